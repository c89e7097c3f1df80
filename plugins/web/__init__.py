"""Plugin: web pages as Markdown."""

from tui_agent.plugin_api import PluginApi

from .browse_url import BrowseUrl


def register(api: PluginApi) -> None:
    """Register the tool."""
    api.tool(BrowseUrl())
