"""The command `tui-agent plugins`: templates for new plugins, and checks of finished plugins."""
