"""The command `tui-agent policy` and its verbs."""
