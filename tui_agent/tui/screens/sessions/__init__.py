"""L7: the list of all sessions."""
