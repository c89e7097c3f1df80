"""Plugin: reading skills: instructions for certain tasks, written by the user or a project."""

from tui_agent.plugin_api import PluginApi

from .read_skill import ReadSkill


def register(api: PluginApi) -> None:
    """Register the tool."""
    api.tool(ReadSkill())
