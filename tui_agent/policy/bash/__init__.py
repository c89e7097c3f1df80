"""Bash text to syntax: the strict subset that commands are proven in, and looser readings that only deny.

Invariant: pure; nothing here knows what a program does.
"""
