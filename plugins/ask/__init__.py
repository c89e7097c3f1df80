"""Plugin: questions to the user, and plans for the user to approve."""

from tui_agent.plugin_api import PluginApi

from .ask_user import AskUser
from .present_plan import PresentPlan


def register(api: PluginApi) -> None:
    """Register both tools."""
    api.tool(AskUser())
    api.tool(PresentPlan())
