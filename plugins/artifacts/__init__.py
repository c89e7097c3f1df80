"""Plugin: reading on in what was too long to be shown whole."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import read_artifact


def register(api: PluginApi) -> None:
    """Offer the tool; its description lies beside it."""
    folder = Path(__file__).parent
    api.tool(read_artifact.make((folder / "read_artifact.md").read_text(encoding="utf-8").strip()))
