"""`tui-agent run` and `tui-agent demo`: turns without the app."""
