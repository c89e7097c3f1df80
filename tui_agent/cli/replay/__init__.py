"""`tui-agent replay`: show a recorded session, or run it again as a check."""
