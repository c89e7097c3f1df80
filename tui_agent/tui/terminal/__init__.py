"""Terminal features other than cells: key sequences, title, clipboard, and hang-up."""
