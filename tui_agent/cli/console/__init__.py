"""Shared parts of all commands: options, printing, the error stream, exit statuses."""
