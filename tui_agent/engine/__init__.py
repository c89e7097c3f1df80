"""The engine: turns, iterations, the tool phase, and the mailbox that drives them.

Invariant: it knows no screen; all that it does is in the log, and all that it needs to know comes from folds of it.
"""
