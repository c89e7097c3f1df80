"""The prompt, in which the user writes messages.

Invariant: typed text survives Esc, a menu and a crash. Text typed before a session opens is kept too.
"""
