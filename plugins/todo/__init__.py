"""Plugin: the agent's todo list."""

from .write_todos import write_todos

__all__ = ["write_todos"]
