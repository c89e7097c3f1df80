"""The interpreter: reports the effects of a script's commands. It expands words if the result is certain.

Invariant: this package is pure, and no doubt is dropped.
"""
