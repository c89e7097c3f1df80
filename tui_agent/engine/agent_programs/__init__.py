"""Agents of other vendors, run as programs in the session's environment. Their output becomes parts of the session.

Invariant: a program is started only if the user chose its agent. The program has the permissions of the session's
policy.
"""
