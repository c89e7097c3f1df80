"""The engine: turns, iterations, tool execution, and the mailbox of commands.

Invariant: the engine does not depend on the user interface, and its state is computed from recorded events.
"""
