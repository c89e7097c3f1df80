"""Evaluation environments (Python files with tests of a workspace, which cases can name), and calls of their functions
with a time limit."""
