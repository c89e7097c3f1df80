"""Plugin: reading outputs that were too long to show in full."""

from tui_agent.plugin_api import PluginApi

from .read_artifact import ReadArtifact


def register(api: PluginApi) -> None:
    """Register the tool."""
    api.tool(ReadArtifact())
