"""Plugin: reading tool outputs that were too long for the model."""

from tui_agent.plugin_api import PluginApi

from .read_artifact import ReadArtifact


def register(api: PluginApi) -> None:
    """Register the tool."""
    api.tool(ReadArtifact())
