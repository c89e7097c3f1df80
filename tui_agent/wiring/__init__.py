"""The composition root: builds a session from the configuration. Each module builds the part for one port.

Invariant: this file imports nothing, so that a command which only needs `ground` does not load the engine.
"""
