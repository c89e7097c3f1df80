"""The command line: one module or package per command, and `console` with the parts that all commands share."""
