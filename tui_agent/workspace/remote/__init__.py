"""Environments whose commands run on a machine of a provider, with a copy of the workspace."""
