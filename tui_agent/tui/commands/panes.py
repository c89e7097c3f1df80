"""The command /pane: shows a plugin's pane as a full page."""

from tui_agent.tui.commands.sheets import open_picker
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.panes.plugin_sections import pane_title
from tui_agent.tui.screens.plugin_pane import PluginPaneScreen


def open_pane(context: AppContext, argument: str) -> None:
    """Show the pane named `argument`; without a name, let the user choose."""
    panes = context.plugin_panes.panes
    name = argument or (next(iter(panes)) if len(panes) == 1 else "")
    if name in panes:
        context.app.push_screen(PluginPaneScreen(context.plugin_panes, name, context))
    elif name:
        known = ", ".join(sorted(panes)) or "none; a plugin can add one"
        context.app.say(f"No pane '{name}'. Available: {known}.", "warning")
    else:
        items = [
            Item(pane, pane_title(pane), about=f"of the plugin {state.loaded.plugin}")
            for pane, state in panes.items()
        ]
        empty = "No plugin offers a pane. docs/plugins.md describes how to add one."
        open_picker(context, "Panes of plugins", items, lambda value: open_pane(context, value), empty=empty)
