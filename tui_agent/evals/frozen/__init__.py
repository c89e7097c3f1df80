"""Frozen sessions (recorded sessions that were converted to cases), and their replay."""
