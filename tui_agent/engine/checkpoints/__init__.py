"""When checkpoints are taken, who changed what, and undoing turns."""
