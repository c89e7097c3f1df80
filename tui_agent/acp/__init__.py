"""Sessions that an editor controls over standard input and output, by the Agent Client Protocol.

Invariant: only this package imports the protocol's library (`acp`).
"""
