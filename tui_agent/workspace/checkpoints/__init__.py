"""Checkpoints of a workspace in the session's own git repository, and restoring them."""
