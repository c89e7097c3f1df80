"""Plugin: the agent's todo list."""

from .todos import write_todos

__all__ = ["write_todos"]
