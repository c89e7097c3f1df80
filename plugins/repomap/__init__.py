"""Plugin: the repository map: files ranked for a question, with the symbols that matter."""

from tui_agent.plugin_api import PluginApi

from .repo_map import RepoMapTool


def register(api: PluginApi) -> None:
    """Register the tool."""
    api.tool(RepoMapTool())
