"""L4: when checkpoints are taken, who changed what, and undoing turns."""
