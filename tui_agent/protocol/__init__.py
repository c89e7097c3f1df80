"""What crosses boundaries: ids, events, commands, parts, display blocks, settings.

Invariant: plain frozen data; imports pydantic and the standard library only; nothing here reads a clock,
draws a random number or does I/O.
"""
