"""Plugin: the todo list that the agent maintains while it works."""

from tui_agent.plugin_api import PluginApi

from .todos import WriteTodos


def register(api: PluginApi) -> None:
    """Register the tool."""
    api.tool(WriteTodos())
