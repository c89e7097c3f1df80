"""Plugin: the agent's todo list."""

from .todo_tool import write_todos

__all__ = ["write_todos"]
