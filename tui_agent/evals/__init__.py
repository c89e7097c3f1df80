"""Evaluations: cases and suites of tasks, their runs by agents, and their results."""
