"""Plugin: text search in the workspace's files."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import grep


def register(api: PluginApi) -> None:
    """Register the search tool; its description is in the `.md` file beside it."""
    api.tool(grep.make((Path(__file__).parent / "grep.md").read_text(encoding="utf-8").strip()))
