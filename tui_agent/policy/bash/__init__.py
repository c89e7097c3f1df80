"""The bash parser: a strict one for the proven subset, and loose readings that serve only rules that deny.

Invariant: pure; nothing here knows what a program does.
"""
