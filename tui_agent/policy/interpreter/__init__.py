"""The interpreter: reports the effects of a script's commands, with their words expanded as far as is certain.

Invariant: this package is pure, and no doubt is dropped.
"""
