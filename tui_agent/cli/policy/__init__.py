"""`tui-agent policy` and its verbs."""
