"""An agent of the Agent Client Protocol: sessions that an editor controls over standard input and output.

Invariant: the only package that imports the protocol's library (`acp`), and never loaded by the app or the engine.
"""
