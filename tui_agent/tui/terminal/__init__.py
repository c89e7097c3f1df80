"""The terminal apart from its cells: key sequences, title, clipboard, and hang-up."""
