"""Commands that only show something: help, todos, tools, plugins, the palette. They work during a turn as well."""

from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Action, groups
from tui_agent.tui.cli_client import place
from tui_agent.tui.commands.sheets import open_picker, show_answer
from tui_agent.tui.context import AppContext
from tui_agent.tui.layout import LOW, SIDE, shape
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.modals.viewer import show, show_full_note
from tui_agent.tui.panes.todo import EMPTY, item_row
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import part, wrap


def show_help(context: AppContext, argument: str) -> None:
    """Show a sheet with all actions of the app, by group."""
    send = context.app.key_map.key_of("send")
    _show_actions(context, "Help", f"Type a message and press {send} to send it. Everything else:")


def show_keys(context: AppContext, argument: str) -> None:
    """Show a sheet with the actions that have a key, by group."""
    _show_actions(context, "Keys", "", only_keys=True)


def _show_actions(context: AppContext, title: str, intro: str, *, only_keys: bool = False) -> None:
    def draw(facts: Facts) -> None:
        if intro:
            facts.text(intro, "t2")
        for group, actions in groups(context.app.actions).items():
            listed = [action for action in actions if action.keys or not only_keys]
            if listed and facts.rows:
                facts.gap()
            if listed:
                facts.text(group, bold=True)
            for action in listed:
                _draw_action(facts, action)

    show(context, title, draw)


def _draw_action(facts: Facts, action: Action) -> None:
    slash = f"{action.slash} {action.args}".strip()
    names = 24  # Width of the longest command with its arguments, and a space.
    key_room = 18 if facts.width >= 70 else 0
    about = action.help + (", not while a turn runs" if action.ground else "")
    shown = action.shown if key_room or not slash else ""
    head = slash or shown
    key = shown if slash and key_room else ""
    for piece in wrap(about, max(10, facts.width - names - key_room)):
        facts.line(
            [
                part(head.ljust(names), facts.style("accent" if slash else "t1")),
                part(key.ljust(key_room), facts.style("t1")),
                part(piece, facts.style("t2")),
            ]
        )
        head = key = ""


def show_todo(context: AppContext, argument: str) -> None:
    """Show the whole todo list."""

    def draw(facts: Facts) -> None:
        items = context.views.todo.view().items
        facts.rows += [item_row(item, 0, facts.looks, facts.width, "s3") for item in items]

    view = context.views.todo.view()
    right = f"{view.done}/{len(view.items)} done" if view.items else ""
    show(context, "Todo", draw, right=right, empty=EMPTY)


def show_tools(context: AppContext, argument: str) -> None:
    """Show the agent's tools and the plugin that provides each."""

    def draw(facts: Facts) -> None:
        counts = context.views.metrics.view().tools
        for name, plugin in sorted(offers(context, "tool")):
            count = counts.get(name, 0)
            use = f", used {format_count(count, 'time')}" if count else ""
            facts.pair(name, plugin + use, names=22)

    show(context, "Tools", draw, empty="No tools loaded. /plugins shows why.")


def offers(context: AppContext, kind: str) -> list[tuple[str, str]]:
    """Return (name, plugin) of each contribution of `kind`, e.g. `tool`, that the loaded plugins provide."""
    return [
        (offer.removeprefix(f"{kind}:"), plugin.plugin)
        for plugin in context.views.plugins.values()
        if not isinstance(plugin, PluginFailed)
        for offer in plugin.contributions
        if offer.startswith(f"{kind}:")
    ]


def show_plugins(context: AppContext, argument: str) -> None:
    """Show the loaded plugins, and the reasons why others failed to load."""

    def draw(facts: Facts) -> None:
        for name, plugin in sorted(context.views.plugins.items()):
            if isinstance(plugin, PluginFailed):
                facts.pair(name, f"failed: {plugin.message} {plugin.where}", "error", names=16)
            else:
                names = ", ".join(plugin.contributions) or "nothing"
                facts.pair(name, f"{plugin.version}, {plugin.source}: {names}", names=16)

    show(context, "Plugins", draw, empty="No plugins loaded.")


def show_models(context: AppContext, argument: str) -> None:
    """Show the output of `tui-agent models list`."""
    show_command_output(context, "Models", "models", "list", *place(context.app.options))


def show_command_output(context: AppContext, title: str, *words: str) -> None:
    """Run `tui-agent` with the arguments `words`, and show the output in a sheet."""

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
    """Show a list of all actions by name, and run the chosen action."""
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
    """Show the full text of a notice that is cut off; if there is none, fold or unfold a block of the transcript."""
    if show_full_note(context, context.app.note):
        context.app.hide_note()
    else:
        context.chat.toggle()
