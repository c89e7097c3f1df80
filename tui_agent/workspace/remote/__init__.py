"""Environments on a provider's machine, with a copy of the workspace."""
