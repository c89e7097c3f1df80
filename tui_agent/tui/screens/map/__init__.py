"""L7: the map of the repository."""
