"""Composition of what extends a session: plugins, hooks, slash commands."""
