"""Data types shared by all layers: ids, events, commands, message parts, display blocks and settings.

Invariant: plain frozen data; imports only pydantic and the standard library; never reads a clock, draws a
random number or does I/O.
"""
