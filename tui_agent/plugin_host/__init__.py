"""Discovery, loading and isolation of plugins; bundled plugins are treated like all others.

Invariant: listing imports nothing; a plugin that fails leaves nothing behind except an event with the reason.
"""
