"""Finding, loading and isolating plugins. Bundled ones take the same way as a stranger's.

Invariant: listing imports nothing; a plugin that fails leaves nothing behind but an event that says why.
"""
