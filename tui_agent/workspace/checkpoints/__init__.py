"""Checkpoints of a workspace: commits in the session's own git repository that can be restored."""
