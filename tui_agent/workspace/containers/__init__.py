"""Environments that run commands in a container, with the workspace mounted from this machine."""
