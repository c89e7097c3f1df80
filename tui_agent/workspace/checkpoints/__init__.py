"""Checkpoints of a workspace. They are commits in the session's own git repository, and can be restored."""
