"""Compaction: keeps an agent's history within its model's window."""
