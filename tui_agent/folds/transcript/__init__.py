"""The fold behind the chat: entries in order."""
