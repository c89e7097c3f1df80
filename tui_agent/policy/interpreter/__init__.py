"""The interpreter: reports the effects of a script's commands, with their words expanded as far as is certain.

Invariant: this package is pure. Each doubt is recorded with its reason, and no doubt is dropped.
"""
