"""Plugin: the repository map, which ranks files for a question and shows their relevant symbols."""

from tui_agent.plugin_api import PluginApi

from .repo_map import RepoMapTool


def register(api: PluginApi) -> None:
    """Register the tool."""
    api.tool(RepoMapTool())
