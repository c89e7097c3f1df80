"""L7: `tui-agent sessions` and its verbs."""
