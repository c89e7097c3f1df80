"""Plugin: the repository map: files ranked for a question, with the symbols that matter."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import repo_map


def register(api: PluginApi) -> None:
    """Register the tool; its description is in the `.md` file beside it."""
    api.tool(repo_map.make((Path(__file__).parent / "repo_map.md").read_text(encoding="utf-8").strip()))
