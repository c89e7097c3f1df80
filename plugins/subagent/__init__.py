"""Plugin: tools that delegate a task to another agent."""

from tui_agent.plugin_api import PluginApi

from .delegate_readonly import DelegateReadonly
from .spawn_subtask import SpawnSubtask


def register(api: PluginApi) -> None:
    """Register both tools."""
    api.tool(SpawnSubtask())
    api.tool(DelegateReadonly())
