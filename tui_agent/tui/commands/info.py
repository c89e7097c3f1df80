"""Actions that only show: help, status, panes in full, what is there. They work while a turn runs."""

from collections.abc import Callable

from textual.strip import Strip

from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.actions import Action, groups
from tui_agent.tui.cli_client import place
from tui_agent.tui.commands.context import context
from tui_agent.tui.commands.diff import diff
from tui_agent.tui.commands.stats import cost, status
from tui_agent.tui.context import AppContext
from tui_agent.tui.layout import LOW, SIDE, shape
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.viewer import Viewer, show, whole_note
from tui_agent.tui.panes.todo import item_row
from tui_agent.tui.widgets.rows import Part, part, wrap


def help_(context: AppContext, argument: str) -> None:
    """Every action, by group."""
    _registry(context, "Help", f"Type, and {context.app.key_map.key_of('send')} sends. Everything else:")


def keys(context: AppContext, argument: str) -> None:
    """Only what has a key."""
    _registry(context, "Keys", "", only_keys=True)


def _registry(context: AppContext, title: str, intro: str, *, only_keys: bool = False) -> None:
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
    names = 24  # the longest command with its words, and a space
    key_room = 18 if width >= 70 else 0
    about = action.help + (", not while a turn runs" if action.ground else "")
    shown = action.shown if key_room or not slash else ""
    head = slash or shown
    rows: list[Strip] = []
    for at, piece in enumerate(wrap(about, max(10, width - names - key_room))):
        left: list[Part] = [
            part(head.ljust(names) if at == 0 else " " * names, viewer.style("accent" if slash else "t1"))
        ]
        if key_room:
            key = (shown if slash else "") if at == 0 else ""
            left.append(part(key.ljust(key_room), viewer.style("t1")))
        left.append(part(piece, viewer.style("t2")))
        rows.append(viewer.line(width, left))
    return rows


def todo(context: AppContext, argument: str) -> None:
    """The whole list."""

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        view = context.views.todo.view()
        if not view.items:
            return viewer.say(width, "No tasks yet. The agent writes them for longer work.", "t3")
        return [item_row(item, 0, viewer.looks, width, "s3") for item in view.items]

    view = context.views.todo.view()
    show(context, "Todo", draw, right=f"{view.done}/{len(view.items)} done" if view.items else "")


def tools(context: AppContext, argument: str) -> None:
    """What the agent has, and who brought it."""

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        rows: list[Strip] = []
        counts = context.views.metrics.view().tools
        for name, plugin in sorted(offers(context, "tool")):
            used = counts.get(name, 0)
            rows += viewer.pair(
                width, name, plugin + (f", used {counted(used, 'time')}" if used else ""), names=22
            )
        return rows or viewer.say(width, "No tool is loaded. /plugins tells why.", "t3")

    show(context, "Tools", draw)


def offers(context: AppContext, kind: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for loaded in context.views.plugins.values():
        if not isinstance(loaded, PluginFailed):
            found += [
                (offer.removeprefix(f"{kind}:"), loaded.plugin)
                for offer in loaded.offers
                if offer.startswith(f"{kind}:")
            ]
    return found


def plugins(context: AppContext, argument: str) -> None:
    """What is loaded, what failed and why."""

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        rows: list[Strip] = []
        for name, one in sorted(context.views.plugins.items()):
            if isinstance(one, PluginFailed):
                rows += viewer.pair(width, name, f"failed: {one.message} {one.where}", role="error")
            else:
                rows += viewer.pair(
                    width, name, f"{one.version}, {one.source}: {', '.join(one.offers) or 'nothing'}"
                )
        return rows or viewer.say(width, "No plugin is loaded.", "t3")

    show(context, "Plugins", draw)


def models(context: AppContext, argument: str) -> None:
    """The models of `tui-agent models list`."""
    program(context, "Models", "models", "list", *place(context.app.options))


def program(context: AppContext, title: str, *words: str) -> None:
    """What the command line says to these words."""
    said = {"text": "looking …"}

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        return viewer.say(width, said["text"], "t1")

    viewer = show(context, title, draw)

    async def ask() -> None:
        _, said["text"] = await context.ask(*words)
        viewer.plain = said["text"]
        if viewer.is_attached:
            viewer.redraw()

    context.worker(ask(), title)


def sidebar(context: AppContext, argument: str) -> None:
    """Show or hide the side panes."""
    app = context.app
    if not shape(*app.size).sidebar:
        keys = ", ".join(f"{app.key_map.key_of(name)} {name}" for name in ("todo", "trace", "context"))
        app.say(f"The side panes need {SIDE} columns and {LOW} rows. {keys}.")
        return
    app.toggle_sidebar()


def palette(context: AppContext, argument: str) -> None:
    """Every action by name."""
    items = [
        Item(action.name, _named(action), about=action.help, right=action.shown, group=action.group)
        for action in context.app.actions
        if action.scope == "app" and action.name not in ("palette", "stop", "copy_or_stop")
    ]

    def chosen(name: str | None) -> None:
        if name is not None:
            needs = next((one for one in context.app.actions if one.name == name), None)
            if needs is not None and needs.args and not needs.args.startswith("[") and needs.slash:
                context.prompt.put_text(f"{needs.slash} ")
            else:
                context.app.do(name)

    context.app.push_screen(Picker(lambda: context.app.looks, "Actions", items), chosen)


def _named(action: Action) -> str:
    return action.slash or action.name.replace("_", " ")


def find(context: AppContext, argument: str) -> None:
    """Find words in the transcript."""
    context.chat.find(argument)


def to_end(context: AppContext, argument: str) -> None:
    """The newest row."""
    context.chat.to_end()


def page_up(context: AppContext, argument: str) -> None:
    """A page towards the beginning."""
    context.chat.page(-1)


def page_down(context: AppContext, argument: str) -> None:
    """A page towards the end."""
    context.chat.page(1)


def to_chat(context: AppContext, argument: str) -> None:
    """The keys go to the transcript."""
    context.chat.focus()


def open_block(context: AppContext, argument: str) -> None:
    """Fold or open the block under the cursor; or show all of a word above the prompt that had no room."""
    if whole_note(context, context.app.note):
        context.app.hush()
    else:
        context.chat.toggle()


HANDLERS: dict[str, Callable[[AppContext, str], None]] = {
    "help": help_,
    "keys": keys,
    "status": status,
    "todo": todo,
    "cost": cost,
    "context": context,
    "diff": diff,
    "tools": tools,
    "plugins": plugins,
    "models": models,
    "sidebar": sidebar,
    "palette": palette,
    "find": find,
    "to_end": to_end,
    "open_block": open_block,
    "page_up": page_up,
    "page_down": page_down,
    "to_chat": to_chat,
}
