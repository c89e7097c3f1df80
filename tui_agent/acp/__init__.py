"""Sessions controlled by an editor through the Agent Client Protocol, over standard input and output.

Invariant: only this package imports the protocol's library (`acp`).
"""
