"""The built-in middlewares; each contributes a section of the prompt or watches a limit."""
