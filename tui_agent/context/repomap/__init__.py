"""The map of a repository: its files ranked for a question, with the symbols that matter, within a budget of tokens."""
