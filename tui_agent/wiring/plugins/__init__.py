"""Composition of a session's extensions: plugins, hooks and slash commands."""
