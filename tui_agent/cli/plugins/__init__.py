"""The command `plugins`: templates for new plugins, and trials of finished ones."""
