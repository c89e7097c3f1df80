"""`tui-agent sim`."""
