"""Agents of other vendors, run as programs in the session's environment.

Invariant: a program is started only if the user chose its agent.
"""
