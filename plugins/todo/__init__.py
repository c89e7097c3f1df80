"""Plugin: the todo list that the agent maintains while it works."""

from .todos import write_todos

__all__ = ["write_todos"]
