"""Environments whose commands run in a container, with the workspace mounted from this machine."""
