"""The built-in middlewares. Each middleware contributes a section of the prompt or watches a limit."""
