"""Agents of others as programs in the session's environment: the lines that they print become parts of the session.

Invariant: a program is started only if the user chose its agent, with the permissions that the session's policy gives.
"""
