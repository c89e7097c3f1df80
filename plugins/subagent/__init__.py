"""Plugin: tools that delegate a task to another agent."""

from tui_agent.plugin_api import PluginApi

from .delegation import DelegateReadonly, SpawnSubtask


def register(api: PluginApi) -> None:
    """Register `spawn_subtask` and `delegate_readonly`."""
    api.tool(SpawnSubtask())
    api.tool(DelegateReadonly())
