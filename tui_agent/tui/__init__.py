"""The full-screen app.

Invariant: uses only the protocol, the views, the configuration and the facade `Session` of the engine.
"""
