"""Protocols between the engine and its surroundings: models, tools, files, storage, clients.

Invariant: the modules of this package access files and programs only through these protocols.
"""
