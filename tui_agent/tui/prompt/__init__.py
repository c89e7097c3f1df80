"""The prompt, in which the user writes messages.

Invariant: typed text survives Esc, a menu, a crash, and a session that is not open yet.
"""
