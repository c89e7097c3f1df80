"""What a script does: its commands with their words expanded as far as certain, and each one's effects.

Invariant: pure; each doubt is kept with its reason, and none is ever dropped.
"""
