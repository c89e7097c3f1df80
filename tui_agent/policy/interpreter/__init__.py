"""The interpreter: reports the effects of a script's commands. Words are expanded if the result is certain.

Invariant: this package is pure, and no doubt is dropped.
"""
