"""`tui-agent run` and `tui-agent demo`: turns without a screen."""
