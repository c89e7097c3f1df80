"""Plugin: reading skills, the instructions of user and project for kinds of tasks."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import read_skill


def register(api: PluginApi) -> None:
    """Register the tool; its description is in the `.md` file beside it."""
    text = (Path(__file__).parent / "read_skill.md").read_text(encoding="utf-8").strip()
    api.tool(read_skill.make(text))
