"""Folds of measurements: spans, metrics, parts and the timeline."""
