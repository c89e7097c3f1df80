"""`tui-agent sessions` and its verbs."""
