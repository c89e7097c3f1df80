"""An agent of the Agent Client Protocol: sessions that an editor controls over standard input and output.

Invariant: only this package imports the protocol's library (`acp`). The app and the engine never load this package.
"""
