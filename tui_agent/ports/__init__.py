"""Protocols between the engine and its surroundings: models, tools, files, storage, clients.

Invariant: the modules contain no implementation and no I/O.
"""
