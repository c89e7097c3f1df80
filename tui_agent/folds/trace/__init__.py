"""Folds of what was measured: spans, metrics, parts and the timeline."""
