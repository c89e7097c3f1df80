"""The composition root: builds a session from the configuration. Each module builds one part of the session.

Invariant: this file imports nothing, so that commands that need only `startup_context` do not load the engine.
"""
