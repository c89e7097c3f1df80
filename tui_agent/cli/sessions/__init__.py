"""`tui-agent sessions` and its subcommands."""
