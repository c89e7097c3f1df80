"""Panes and folds of plugins, in a child process."""
