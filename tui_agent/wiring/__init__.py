"""The composition root: builds a session from the configuration, each part in one module.

Invariant: this file imports nothing, so importing `startup_context` does not load the engine.
"""
