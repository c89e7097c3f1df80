"""Composition of a session's access to its workspace: environment, sandbox, repository map."""
