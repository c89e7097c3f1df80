"""Data types shared by all layers: ids, events, commands, message parts, display blocks and settings.

Invariant: all types are plain frozen data. The package imports only pydantic and the standard library. It does not read
a clock, draw random numbers or do I/O.
"""
