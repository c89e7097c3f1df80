"""Functions that run the app's actions, such as `/fork` or `/status`.

Invariant: each of these functions only reads views, submits commands to the engine, or opens a sheet or screen.
"""
