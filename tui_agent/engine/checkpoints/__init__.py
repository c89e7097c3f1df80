"""Checkpoints of a session: when they are taken, who changed each file, and undo."""
