"""The composition root: builds a session from the configuration, each part in one module.

Invariant: this file imports nothing, so that `startup_context` can be used without the engine.
"""
