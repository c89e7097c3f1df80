"""Composition root: configuration to a session. Each module puts together what one port needs of a start.

Invariant: this package's face imports nothing, so that a command which only wants `ground` loads no engine.
"""
