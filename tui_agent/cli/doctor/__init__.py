"""`tui-agent doctor`: checks of the installation and the machine."""
