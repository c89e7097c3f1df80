"""Plugin: an agent that reads files and answers questions. It has no tools to write or run commands."""

from tui_agent.plugin_api import PluginApi

from .reader import Reader


def register(api: PluginApi) -> None:
    """Register the agent."""
    api.agent("reader", Reader, description="reads files and answers; cannot write files or run commands")
