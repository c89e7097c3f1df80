"""Environments of cases, and calls of their functions with a time limit."""
