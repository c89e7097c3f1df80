"""Compaction of a history: the results and messages that can be replaced, and the text and size of a summary."""
