"""Environments that run commands on a machine of a provider, with a copy of the workspace."""
