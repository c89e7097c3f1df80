"""The screen with the repository map: files and symbols, ranked for a question."""
