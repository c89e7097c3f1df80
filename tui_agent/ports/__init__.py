"""Protocols between the engine and its surroundings: models, tools, files, storage, clients.

Invariant: no implementation, no I/O; a data type that only one protocol uses is defined next to it.
"""
