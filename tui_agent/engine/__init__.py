"""The engine: turns, iterations, the tool phase, and the mailbox of commands.

Invariant: it knows no screen. Everything that it does is in the log, and its state comes from folds of the log.
"""
