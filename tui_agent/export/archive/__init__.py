"""Archives of sessions, bundles of their checkpoints, and the storage that can receive both."""
