"""The list of all sessions."""
