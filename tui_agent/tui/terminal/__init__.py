"""L7: the terminal beside its cells: key sequences, title, clipboard, and hang-up."""
