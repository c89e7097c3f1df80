"""Folds of a model's context: its messages, its size, and the messages that compaction removed."""
