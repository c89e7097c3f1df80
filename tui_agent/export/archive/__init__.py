"""Archives of sessions, and bundles of their checkpoints."""
