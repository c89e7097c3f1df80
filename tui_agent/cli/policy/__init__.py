"""The command `tui-agent policy` and its subcommands."""
