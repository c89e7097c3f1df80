"""Plugin: questions to the user, and plans for the user to approve."""

from tui_agent.plugin_api import PluginApi

from . import ask_user
from .present_plan import PresentPlan


def register(api: PluginApi) -> None:
    """Register the tools `ask_user` and `present_plan`."""
    api.tool(ask_user.ask_user)
    api.tool(PresentPlan())
