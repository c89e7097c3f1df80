"""Plugin: tools that delegate a task to another agent."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import delegate_readonly, spawn_subtask


def register(api: PluginApi) -> None:
    """Register both tools; their descriptions are in the `.md` files beside them."""
    folder = Path(__file__).parent
    for name, make in (
        ("spawn_subtask", spawn_subtask.make),
        ("delegate_readonly", delegate_readonly.make),
    ):
        api.tool(make((folder / f"{name}.md").read_text(encoding="utf-8").strip()))
