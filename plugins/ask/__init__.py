"""Plugin: questions to the user, and plans for the user to approve."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import ask_user, present_plan


def register(api: PluginApi) -> None:
    """Register both tools; their descriptions are in the `.md` files beside them."""
    folder = Path(__file__).parent
    api.tool(ask_user.make((folder / "ask_user.md").read_text(encoding="utf-8").strip()))
    api.tool(present_plan.make((folder / "present_plan.md").read_text(encoding="utf-8").strip()))
