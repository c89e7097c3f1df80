"""The terminal beside its cells: key sequences, title, clipboard, and hang-up."""
