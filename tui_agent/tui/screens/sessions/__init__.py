"""The screen with the list of all sessions."""
