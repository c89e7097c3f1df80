"""Plugin: reading outputs that were too long to show in full."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import read_artifact


def register(api: PluginApi) -> None:
    """Register the tool; its description is in the `.md` file beside it."""
    folder = Path(__file__).parent
    api.tool(read_artifact.make((folder / "read_artifact.md").read_text(encoding="utf-8").strip()))
