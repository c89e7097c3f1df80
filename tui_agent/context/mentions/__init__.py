"""Mentions of files, folders, pages and symbols in a message."""
