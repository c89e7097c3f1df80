"""Commands that only show something: help, todos, tools, plugins and their panes, the palette."""

from collections.abc import Sequence
from typing import Final

from tui_agent.config.extensions.mcp_servers import PROJECT_FILE
from tui_agent.protocol.commands import ReloadPlugins
from tui_agent.protocol.events.plugin import MCP_OWNER, RESOURCES, PluginFailed, PluginLoaded
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import non_json_text
from tui_agent.tui.commands.sheets import open_picker, show_answer
from tui_agent.tui.keys_and_commands import Action
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.modals.viewer import show, show_full_notice
from tui_agent.tui.panes.plugin_sections import pane_title
from tui_agent.tui.panes.todo import EMPTY, item_rows, progress
from tui_agent.tui.screen_layout import LOW, SIDE, shape
from tui_agent.tui.screens.plugin_pane import PluginPaneScreen
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.facts import Facts

FIRST_GROUPS: Final = "Prompt", "Commands", "App", "Transcript", "Menu"
"""Groups of actions at the start of the help."""


def show_help(context: AppContext, argument: str) -> None:
    """List all keys and commands, or those that match the argument."""
    groups = {name: number for number, name in enumerate(FIRST_GROUPS)}
    actions = sorted(context.app.actions, key=lambda action: groups.get(action.group, len(groups)))
    _list_actions(context, "Help", actions, argument.strip())


def open_palette(context: AppContext, argument: str) -> None:
    """List all actions that work on any screen, and run the chosen action."""
    hidden = ("palette", "stop", "copy_or_stop")
    actions = [
        action for action in context.app.actions if action.scope == "app" and action.name not in hidden
    ]
    _list_actions(context, "Actions", sorted(actions, key=lambda action: not action.slash))


def _list_actions(context: AppContext, title: str, actions: Sequence[Action], query: str = "") -> None:
    def choose(number: str) -> None:
        action = actions[int(number)]
        if _needs_argument(action):
            context.editor.put_text(f"{action.slash} ")
        else:
            context.app.do(action.name)

    items = [_action_item(number, action) for number, action in enumerate(actions)]
    open_picker(context, title, items, choose).field.insert(query)


def _needs_argument(action: Action) -> bool:
    """Return True for a command with an argument to type. Choosing such a command only writes it into the prompt."""
    return bool(action.slash and action.args) and not action.args.startswith("[")


def _action_item(number: int, action: Action) -> Item:
    words = [word for word, argument in action.typed_words if not argument and word != action.slash]
    usage = f"{action.slash} {action.args}" if action.slash and action.args else ""
    others = ", ".join(words if action.slash or action.label else words[1:])
    also = action.all_keys if action.all_keys != action.label and not action.slash else ""
    more = [usage, f"also {others}" if others else "", f"Keys: {also}" if also else ""]
    return Item(
        str(number),
        action.slash or action.label or next(iter(words), action.name),
        about=action.help,
        right=action.label if action.slash else "",
        group=action.group,
        more="; ".join(filter(None, more)),
        # The keys of the prompt, the transcript and other screens work only there.
        only_informs=action.scope != "app" and not _needs_argument(action),
        found_by=f"{action.name.replace('_', ' ')} {action.footer} {' '.join(action.aliases)} {action.synonyms}",
    )


def show_todo(context: AppContext, argument: str) -> None:
    """Show the whole todo list."""

    def draw(facts: Facts) -> None:
        for item in context.views.todo.view().items:
            facts.rows += item_rows(item, 0, facts.looks, facts.width, "s3")

    show(context, "Todo", draw, right=progress(context.views.todo.view()), empty=EMPTY)


def show_tools(context: AppContext, argument: str) -> None:
    """Show the agent's tools and the plugin that provides each."""

    def draw(facts: Facts) -> None:
        counts = context.views.metrics.view().tools
        for name, plugin in sorted(offers(context, "tool")):
            count = counts.get(name, 0)
            use = f", used {format_count(count, 'time')}" if count else ""
            facts.pair(name, plugin + use, names=22)

    show(context, "Tools", draw, empty="No tools loaded. /status plugins shows why.")


def offers(context: AppContext, kind: str) -> list[tuple[str, str]]:
    """Return what the loaded plugins contribute, as pairs (name, plugin).

    `kind`: the kind of contribution, e.g. `tool`.
    """
    return [
        (offer.removeprefix(f"{kind}:"), plugin.plugin)
        for plugin in context.views.plugins.values()
        if not isinstance(plugin, PluginFailed)
        for offer in plugin.contributions
        if offer.startswith(f"{kind}:")
    ]


def show_plugins(context: AppContext, argument: str) -> None:
    """Show the loaded and failed plugins; with an argument, enable or disable a plugin."""
    verb, _, name = argument.partition(" ")
    if argument and (verb not in ("enable", "disable") or not name):
        context.app.say("Type /plugins, /plugins enable NAME or /plugins disable NAME.", "warning")
        return
    if argument:
        context.worker(_switch_plugin(context, verb, name.strip()), "plugins")
        return

    def draw(facts: Facts) -> None:
        plugins = context.views.plugins
        for name in sorted(plugins, key=lambda name: (not isinstance(plugins[name], PluginFailed), name)):
            plugin = plugins[name]
            if isinstance(plugin, PluginFailed):
                facts.pair(f"{name:<12}failed", f"{plugin.message} {plugin.where}", "error", names=20)
            else:
                origin = (
                    "" if plugin.source == "bundled" else f"{plugin.source} {plugin.version}".rstrip() + ": "
                )
                facts.pair(f"{name:<12}on", origin + _offers_text(plugin.contributions), names=20)
        if plugins:
            facts.gap()
            facts.text(
                "`tui-agent plugins list` also lists disabled plugins; /plugins enable NAME enables one.",
                "t3",
            )

    show(context, "Plugins", draw, empty="No plugins loaded.")


async def _switch_plugin(context: AppContext, verb: str, name: str) -> None:
    """Enable or disable a plugin in the user's configuration, and make the engine use the new configuration."""
    status, output = await context.ask("plugins", verb, name)
    context.app.say(non_json_text(output), "error" if status else "info")
    if not status:
        context.submit(ReloadPlugins(automatic=True))


def _offers_text(offers: Sequence[str]) -> str:
    """List what a plugin offers, grouped by kind: `tools read_file, glob; pane tests`."""
    names: dict[str, list[str]] = {}
    for kind, _, name in (offer.partition(":") for offer in offers):
        names.setdefault(kind.replace("_", " "), []).append(name)
    return "; ".join(
        f"{kind}{'s' if len(of_kind) > 1 else ''} {', '.join(of_kind)}" for kind, of_kind in names.items()
    )


def show_servers(context: AppContext, argument: str) -> None:
    """Show the session's MCP servers with their tools."""

    def draw(facts: Facts) -> None:
        for plugin in context.views.plugins.values():
            name = plugin.plugin.removeprefix(MCP_OWNER)
            if name == plugin.plugin:
                continue
            facts.pair(name, *_server_state(plugin), names=16)
            for sentence in () if isinstance(plugin, PluginFailed) else plugin.left_out:
                facts.pair("", sentence, "warning", names=16)
        for path in () if context.config is None else context.config.ignored_files:
            if path.name == PROJECT_FILE:
                facts.text(
                    f"{path} is not used, because its folder is not trusted. To trust the folder: /trust",
                    "warning",
                )

    show(
        context,
        "MCP servers",
        draw,
        empty="No MCP server has answered yet. docs/mcp.md describes how to add one.",
    )


def _server_state(server: PluginLoaded | PluginFailed) -> tuple[str, Role]:
    """Return an MCP server's state in words, and their colour role."""
    if isinstance(server, PluginLoaded):
        names = ", ".join(map(_offer_name, server.contributions)) or "nothing"
        return f"ready, version {server.version or 'unknown'}: {names}", "t1"
    if server.login_command:
        return f"needs login: {server.login_command}", "warning"
    if server.is_late:
        return f"still starting: {server.message}", "warning"
    if server.is_restarting:
        return f"restarting: {server.reason}", "warning"
    return f"failed: {server.message} {server.where}".rstrip(), "error"


def _offer_name(offer: str) -> str:
    kind, _, name = offer.partition(":")
    return f"resources (@{name}:…)" if f"{kind}:" == RESOURCES else name


def show_command_output(context: AppContext, title: str, *words: str) -> None:
    """Run `tui-agent` with the arguments `words`, and show the output in a sheet."""

    async def ask() -> str:
        return (await context.ask(*words))[1]

    show_answer(context, title, ask)


def toggle_sidebar(context: AppContext, argument: str) -> None:
    """Show or hide the side panes."""
    app = context.app
    if not shape(*app.size).sidebar:
        keys = ", ".join(f"{app.key_of(name)} {name}" for name in ("todo", "trace", "context"))
        app.say(f"The side panes need {SIDE} columns and {LOW} rows. Use these keys instead: {keys}.")
        return
    app.toggle_sidebar()
    context.choices.remember(sidebar=app.sidebar_wanted)


def toggle_block(context: AppContext, argument: str) -> None:
    """Expand a notice that is cut off. If there is none, expand the folded paste nearest to the cursor.

    If there is no such paste either, fold or unfold a block of the transcript.
    """
    if show_full_notice(context, context.app.notice):
        context.app.hide_notice()
    elif not (context.editor.has_focus and context.editor.unfold_paste()):
        context.chat.toggle()


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
