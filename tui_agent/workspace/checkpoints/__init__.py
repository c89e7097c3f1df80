"""Checkpoints of a workspace in a git repository of the session's own, and restoring them."""
