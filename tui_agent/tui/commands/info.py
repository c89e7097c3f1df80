"""Commands that only show something: help, todos, tools, plugins, the palette. They work while a turn runs."""

from textual.strip import Strip

from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Action, groups
from tui_agent.tui.cli_client import place
from tui_agent.tui.commands.sheets import open_picker, show_answer
from tui_agent.tui.context import AppContext
from tui_agent.tui.layout import LOW, SIDE, shape
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.modals.viewer import Viewer, show, show_full_note
from tui_agent.tui.panes.todo import item_row
from tui_agent.tui.widgets.rows import part, wrap


def show_help(context: AppContext, argument: str) -> None:
    """Show all actions by group."""
    send = context.app.key_map.key_of("send")
    _show_actions(context, "Help", f"Type a message and press {send} to send it. Everything else:")


def show_keys(context: AppContext, argument: str) -> None:
    """Show the actions that have a key, by group."""
    _show_actions(context, "Keys", "", only_keys=True)


def _show_actions(context: AppContext, title: str, intro: str, *, only_keys: bool = False) -> None:
    def draw(viewer: Viewer, width: int) -> list[Strip]:
        rows: list[Strip] = []
        if intro:
            rows += [*viewer.say(width, intro), viewer.gap(width)]
        for group, actions in groups(context.app.actions).items():
            listed = [action for action in actions if action.keys or not only_keys]
            if not listed:
                continue
            rows.append(viewer.heading(width, group))
            for action in listed:
                rows += _action_rows(viewer, width, action)
            rows.append(viewer.gap(width))
        return rows[:-1]

    show(context, title, draw)


def _action_rows(viewer: Viewer, width: int, action: Action) -> list[Strip]:
    slash = f"{action.slash} {action.args}".strip()
    names = 24  # Width of the longest command with its arguments, and a space.
    key_room = 18 if width >= 70 else 0
    about = action.help + (", not while a turn runs" if action.ground else "")
    shown = action.shown if key_room or not slash else ""
    head = slash or shown
    rows: list[Strip] = []
    key = shown if slash and key_room else ""
    for piece in wrap(about, max(10, width - names - key_room)):
        left = [
            part(head.ljust(names), viewer.style("accent" if slash else "t1")),
            part(key.ljust(key_room), viewer.style("t1")),
            part(piece, viewer.style("t2")),
        ]
        rows.append(viewer.line(width, left))
        head = key = ""
    return rows


def show_todo(context: AppContext, argument: str) -> None:
    """Show the whole todo list."""

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        view = context.views.todo.view()
        if not view.items:
            return viewer.say(width, "No tasks yet. The agent writes them for longer work.", "t3")
        return [item_row(item, 0, viewer.looks, width, "s3") for item in view.items]

    view = context.views.todo.view()
    show(context, "Todo", draw, right=f"{view.done}/{len(view.items)} done" if view.items else "")


def show_tools(context: AppContext, argument: str) -> None:
    """Show the agent's tools and the plugin that provides each."""

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        rows: list[Strip] = []
        counts = context.views.metrics.view().tools
        for name, plugin in sorted(offers(context, "tool")):
            count = counts.get(name, 0)
            use = f", used {format_count(count, 'time')}" if count else ""
            rows += viewer.pair(width, name, plugin + use, names=22)
        return rows or viewer.say(width, "No tools loaded. /plugins shows why.", "t3")

    show(context, "Tools", draw)


def offers(context: AppContext, kind: str) -> list[tuple[str, str]]:
    """Return (name, plugin) of everything of this kind that the loaded plugins provide."""
    return [
        (offer.removeprefix(f"{kind}:"), plugin.plugin)
        for plugin in context.views.plugins.values()
        if not isinstance(plugin, PluginFailed)
        for offer in plugin.contributions
        if offer.startswith(f"{kind}:")
    ]


def show_plugins(context: AppContext, argument: str) -> None:
    """Show the loaded plugins, and those that failed to load with the reason."""

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        rows: list[Strip] = []
        for name, plugin in sorted(context.views.plugins.items()):
            if isinstance(plugin, PluginFailed):
                rows += viewer.pair(width, name, f"failed: {plugin.message} {plugin.where}", role="error")
            else:
                names = ", ".join(plugin.contributions) or "nothing"
                rows += viewer.pair(width, name, f"{plugin.version}, {plugin.source}: {names}")
        return rows or viewer.say(width, "No plugins loaded.", "t3")

    show(context, "Plugins", draw)


def show_models(context: AppContext, argument: str) -> None:
    """Show the output of `tui-agent models list`."""
    show_command_output(context, "Models", "models", "list", *place(context.app.options))


def show_command_output(context: AppContext, title: str, *words: str) -> None:
    """Show the output of `tui-agent` called with these words."""

    async def ask() -> str:
        return (await context.ask(*words))[1]

    show_answer(context, title, ask)


def toggle_sidebar(context: AppContext, argument: str) -> None:
    """Show or hide the side panes."""
    app = context.app
    if not shape(*app.size).sidebar:
        keys = ", ".join(f"{app.key_map.key_of(name)} {name}" for name in ("todo", "trace", "context"))
        app.say(f"The side panes need {SIDE} columns and {LOW} rows. Instead: {keys}.")
        return
    app.toggle_sidebar()


def open_palette(context: AppContext, argument: str) -> None:
    """List all actions by name, and run the chosen one."""
    items = [
        Item(
            action.name,
            action.slash or action.name.replace("_", " "),
            about=action.help,
            right=action.shown,
            group=action.group,
        )
        for action in context.app.actions
        if action.scope == "app" and action.name not in ("palette", "stop", "copy_or_stop")
    ]

    def choose(name: str) -> None:
        action = next(action for action in context.app.actions if action.name == name)
        if action.args and not action.args.startswith("[") and action.slash:
            context.prompt.put_text(f"{action.slash} ")
        else:
            context.app.do(name)

    open_picker(context, "Actions", items, choose)


def toggle_block(context: AppContext, argument: str) -> None:
    """Show the full text of a notice that is cut off; if there is none, fold or unfold the block under the cursor."""
    if show_full_note(context, context.app.note):
        context.app.hide_note()
    else:
        context.chat.toggle()
