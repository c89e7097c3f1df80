"""The map of the repository."""
