"""The engine: turns, iterations, tool execution, and the mailbox of commands.

Invariant: the engine does not depend on the user interface. It records everything it does in the log, and derives its
state by folding the log.
"""
