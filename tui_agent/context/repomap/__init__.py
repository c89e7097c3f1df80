"""Map of a repository: its files ranked for a question, with relevant symbols, within a token budget."""
