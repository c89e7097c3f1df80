"""L0: the fold behind the chat: entries in order."""
