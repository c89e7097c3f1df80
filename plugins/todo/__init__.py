"""Plugin: the todo list that the agent maintains while it works."""

from tui_agent.plugin_api import PluginApi

from .todos import ReadTodos, WriteTodos


def register(api: PluginApi) -> None:
    """Register both tools."""
    api.tool(WriteTodos())
    api.tool(ReadTodos())
