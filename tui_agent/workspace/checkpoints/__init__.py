"""Checkpoints of a workspace, which can be restored. They are in the session's own git repository."""
