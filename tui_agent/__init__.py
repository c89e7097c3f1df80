"""tui_agent: a full-screen terminal coding agent that records every event.

Holds the version and imports nothing, so that `--version` costs no more than the interpreter.
"""

__version__ = "0.1.0"
