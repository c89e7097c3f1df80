"""Features of the terminal other than drawing cells: key sequences, title, clipboard, and hang-up."""
