"""The engine: turns, iterations, tool execution, and the mailbox of commands.

Invariant: the engine does not depend on the user interface. It records everything it does as events, and its state is
computed from these events.
"""
