"""The built-in middlewares, in their fixed order; each contributes a section of the prompt or watches a limit."""
