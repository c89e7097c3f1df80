"""tui_agent: a full-screen terminal coding agent that records every event."""
# Imports nothing, so that `tui-agent --version` is as fast as starting Python.

__version__ = "0.1.0"
