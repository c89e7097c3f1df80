"""Plugin: running commands and tests."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import run_command, run_tests


def register(api: PluginApi) -> None:
    """Offer the two tools; their descriptions lie beside them."""
    folder = Path(__file__).parent
    api.tool(run_command.make((folder / "run_command.md").read_text(encoding="utf-8").strip()))
    api.tool(run_tests.make((folder / "run_tests.md").read_text(encoding="utf-8").strip()))
