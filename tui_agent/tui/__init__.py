"""The full-screen app.

Invariant: the app uses only the protocol, the views, the configuration and the facade `Session` of the engine.
"""
