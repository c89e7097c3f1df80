"""The transcript: the entries that the chat shows, built from events."""
