"""Plugin: the todo list that the agent maintains while it works."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import read_todos, write_todos


def register(api: PluginApi) -> None:
    """Register both todo tools; their descriptions are in the `.md` files beside them."""
    folder = Path(__file__).parent
    for name, make in (("write_todos", write_todos.make), ("read_todos", read_todos.make)):
        api.tool(make((folder / f"{name}.md").read_text(encoding="utf-8").strip()))
