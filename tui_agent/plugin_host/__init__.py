"""Discovery, loading and isolation of plugins; bundled plugins are treated like all others.

Invariant: listing plugins imports none of them.
"""
