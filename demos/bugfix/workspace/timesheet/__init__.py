"""Shifts and their hours."""
