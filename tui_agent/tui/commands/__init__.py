"""Handlers of the app's actions. Invariant: a handler reads views, submits commands, or opens a sheet or screen."""
