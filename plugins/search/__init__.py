"""Plugin: text search in the workspace's files."""

from tui_agent.plugin_api import PluginApi

from .grep import Grep


def register(api: PluginApi) -> None:
    """Register the tool."""
    api.tool(Grep())
