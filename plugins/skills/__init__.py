"""Plugin: reading skills, the user's and the project's instructions for kinds of task."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import read_skill


def register(api: PluginApi) -> None:
    """Offer the tool; its description lies beside it."""
    text = (Path(__file__).parent / "read_skill.md").read_text(encoding="utf-8").strip()
    api.tool(read_skill.make(text))
