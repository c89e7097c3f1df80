"""Plugin: an agent that reads and answers, and has no tool that writes or runs."""

from tui_agent.plugin_api import PluginApi

from .agent import Reader


def register(api: PluginApi) -> None:
    """Offer the agent."""
    api.agent("reader", Reader, description="reads files and answers; has no tool that writes or runs")
