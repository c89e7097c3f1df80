"""Measurements of a session, computed from its events: spans, metrics, parts and the timeline."""
