"""L7: `tui-agent policy` and its verbs."""
