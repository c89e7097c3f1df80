"""The command line: one module or package per command, and `console` for what they share."""
