"""Plugin: reading skills, which are instructions of the user or project for kinds of tasks."""

from tui_agent.plugin_api import PluginApi

from .read_skill import ReadSkill


def register(api: PluginApi) -> None:
    """Register the tool."""
    api.tool(ReadSkill())
