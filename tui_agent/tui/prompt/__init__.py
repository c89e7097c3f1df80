"""The message editor.

Invariant: typed text is never lost: not by Esc, a menu, a crash or a session that is not open yet.
"""
