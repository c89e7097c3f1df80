"""Folds of a model's context: its messages, its size, and what was compacted."""
