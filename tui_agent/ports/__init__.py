"""Protocols only: what the engine needs of the world, and what the world may rely on.

Invariant: no implementation, no I/O; data types that only a port speaks of stand beside it.
"""
