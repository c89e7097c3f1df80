"""Plugin: questions to the user, and plans for their approval."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import ask_user, present_plan


def register(api: PluginApi) -> None:
    """Offer the two tools; their descriptions lie beside them."""
    folder = Path(__file__).parent
    api.tool(ask_user.make((folder / "ask_user.md").read_text(encoding="utf-8").strip()))
    api.tool(present_plan.make((folder / "present_plan.md").read_text(encoding="utf-8").strip()))
