"""`tui-agent replay`: a recorded session again, on the screen or as a check."""
