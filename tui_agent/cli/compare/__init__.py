"""`tui-agent compare`: two branches side by side."""
