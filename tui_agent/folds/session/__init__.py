"""Folds of a session's state: turns, settings, files, checkpoints, branches, approvals and jobs."""
