"""Maps each action in the registry to its handler function.

Invariant: a handler only reads views, submits commands, or opens a sheet or screen.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from tui_agent.protocol.commands import ReloadPlugins
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.commands import (
    branches,
    clipboard,
    compaction,
    cost,
    diff,
    doctor_export_bug,
    help_and_lists,
    keys,
    model,
    replay,
    session,
    setting_pickers,
    settings,
    shell,
    skills_and_notes,
    status,
)
from tui_agent.tui.commands.context import ContextSheet
from tui_agent.tui.screens.eval_board import open_board
from tui_agent.tui.screens.jobs import JobsScreen
from tui_agent.tui.screens.map.screen import MapScreen
from tui_agent.tui.screens.tree.checkpoints import CheckpointsScreen
from tui_agent.tui.screens.tree.screen import TreeScreen

Handler: TypeAlias = Callable[[AppContext, str], object]
"""A function that takes the open session and the text typed after the command."""


def _with_options(handler: Handler, **options: Handler) -> Handler:
    """Return a handler for a command that has options.

    If the first word of the argument is in `options`, the returned handler passes the other words to that option's
    handler. Otherwise, it passes the whole argument to `handler`.
    """

    def handle(context: AppContext, argument: str) -> None:
        name, _, rest = argument.partition(" ")
        if name in options:
            options[name](context, rest.strip())
        else:
            handler(context, argument)

    return handle


def _needs_argument(hint: str, handler: Handler) -> Handler:
    """Wrap `handler`: without text after the command, show `hint` instead."""

    def handle(context: AppContext, argument: str) -> None:
        if argument:
            handler(context, argument)
        else:
            context.app.say(hint, "warning")

    return handle


HANDLERS: Final[Mapping[str, Handler]] = {
    "help": help_and_lists.show_help,
    "status": _with_options(
        status.show_status,
        tools=help_and_lists.show_tools,
        plugins=help_and_lists.show_plugins,
        mcp=help_and_lists.show_servers,
    ),
    "todo": help_and_lists.show_todo,
    "trace": session.show_trace,
    "context": lambda context, _: context.app.push_screen(ContextSheet(context)),
    "map": lambda context, argument: context.app.push_screen(MapScreen(context, argument)),
    "diff": diff.show_diff,
    "cost": cost.show_cost,
    "memory": skills_and_notes.show_memory,
    "jobs": lambda context, _: context.app.push_screen(JobsScreen(context)),
    "evals": open_board,
    "doctor": _with_options(doctor_export_bug.show_doctor, report=doctor_export_bug.report_bug),
    "sidebar": help_and_lists.toggle_sidebar,
    "palette": help_and_lists.open_palette,
    "model": _with_options(
        model.choose_model_or_provider, reasoning=setting_pickers.choose_effort, url=model.use_base_url
    ),
    "provider": model.set_up_provider,
    "local": model.use_local_model,
    "agent": _with_options(setting_pickers.choose_agent, delegate=setting_pickers.delegate_task),
    "policy": setting_pickers.choose_policy,
    "next_policy": setting_pickers.next_policy,
    "limit_cost": setting_pickers.limit_cost,
    "theme": setting_pickers.choose_theme,
    "settings": settings.edit_settings,
    "keys": keys.edit_keys,
    "sessions": _with_options(
        session.list_or_open_session,
        rename=_needs_argument("/rename needs a name, for example /rename night shift.", session.rename),
    ),
    "open_session": session.switch,
    "quit": session.quit_app,
    "new": _with_options(session.start_session, summary=session.reset_session),
    "pause": _with_options(session.pause, resume=session.resume),
    "unqueue": session.unqueue,
    "send_queued": session.send_queued,
    "undo": lambda context, argument: context.rewind.undo(argument),
    "redo": lambda context, _: context.rewind.redo(),
    "revert": lambda context, argument: context.rewind.revert(argument),
    "replay": replay.open_replay,
    "tree": _with_options(
        lambda context, _: context.app.push_screen(TreeScreen(context)),
        compare=branches.compare,
        checkpoints=lambda context, _: context.app.push_screen(CheckpointsScreen(context)),
    ),
    "fork": branches.fork,
    "what_if": branches.what_if,
    "export": doctor_export_bug.export,
    "shell": _needs_argument(
        "/run needs a command, for example /run git status or !git status.", shell.run_command
    ),
    "read_file": _needs_argument("/read needs a path, for example /read src/app.py.", shell.read_file),
    "search_files": _needs_argument(
        "/search needs text to look for, for example /search duration.", shell.search_files
    ),
    "compact": compaction.compact,
    "pane": help_and_lists.open_pane,
    "own_commands": skills_and_notes.list_commands,
    "reload": lambda context, _: context.submit(ReloadPlugins()),
    "skills": skills_and_notes.choose_skill,
    "init": skills_and_notes.write_guide,
    "copy": clipboard.copy_answer,
    "paste_image": clipboard.paste_image,
    "editor": shell.edit_message,
    "vim": setting_pickers.toggle_vim,
    "trust": lambda context, _: context.show_trust(),
    "find": lambda context, argument: context.chat.find(argument),
    "to_chat": lambda context, _: context.chat.focus(),
    "to_end": lambda context, _: context.chat.to_end(),
    "page_up": lambda context, _: context.chat.scroll_pages(-1),
    "page_down": lambda context, _: context.chat.scroll_pages(1),
    "open_block": help_and_lists.toggle_block,
    "write": lambda context, _: context.editor.focus(),
    "watch_session": lambda context, _: context.sessions.watch(),
    "start": lambda context, argument: context.start_page.choose(argument),
    "play": model.play_demo,
    "demo": lambda context, argument: context.app.leave_for("demo", *filter(None, [argument])),
}
