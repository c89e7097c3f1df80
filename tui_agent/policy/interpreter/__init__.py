"""The interpreter: reports the effects of a script's commands, and expands their words where the result is certain.

Invariant: this package is pure, and no doubt is dropped.
"""
