"""The built-in middlewares. Each contributes a section of the prompt or watches a limit."""
