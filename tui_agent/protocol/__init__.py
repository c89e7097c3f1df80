"""Data types shared by all layers: ids, events, commands, message parts, display blocks and settings.

Invariant: all types are plain frozen data, and the package does no I/O.
"""
