"""Loads evaluation environments (Python files with tests of a workspace) and calls their functions with a time limit."""
