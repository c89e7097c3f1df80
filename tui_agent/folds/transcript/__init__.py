"""The fold behind the chat: the entries that the chat shows, in order."""
