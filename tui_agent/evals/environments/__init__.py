"""Evaluation environments: Python files with tests of a workspace, and timed calls of their functions."""
