"""Functions that run the app's actions, such as `/fork` or `/status`.

Invariant: such a function reads views, submits commands to the engine, or opens a sheet or screen.
"""
