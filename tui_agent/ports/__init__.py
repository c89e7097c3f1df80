"""Protocols between the engine and its surroundings: models, tools, files, storage, clients.

Invariant: the modules access files and programs only through these protocols.
"""
