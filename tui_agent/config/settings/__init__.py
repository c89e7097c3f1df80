"""The settings: their schema, sources and values, and the user's keys and choices."""
