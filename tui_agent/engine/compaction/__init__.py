"""Keeping an agent's history within its model's window."""
