"""The function that runs each action of the action registry, by the action's name.

Invariant: such a function reads views, and submits commands or opens a sheet or screen; rules about sessions are in the
engine. A test checks that the names match the registry.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from tui_agent.tui.commands import (
    branches,
    choices,
    compaction,
    diff,
    info,
    knowledge,
    model,
    replay,
    reports,
    session,
    shell,
    stats,
)
from tui_agent.tui.commands.context import ContextSheet
from tui_agent.tui.context import AppContext
from tui_agent.tui.screens.jobs import JobsScreen
from tui_agent.tui.screens.map.screen import MapScreen
from tui_agent.tui.screens.sessions.screen import SessionsScreen
from tui_agent.tui.screens.tree.checkpoints import CheckpointsScreen
from tui_agent.tui.screens.tree.screen import TreeScreen

Handler: TypeAlias = Callable[[AppContext, str], object]
"""A function that takes the open session and the text typed after the command."""


def _needs_argument(hint: str, handler: Handler) -> Handler:
    """Wrap `handler` so that it shows `hint` if no text was typed after the command."""

    def handle(context: AppContext, argument: str) -> None:
        if argument:
            handler(context, argument)
        else:
            context.app.say(hint, "warning")

    return handle


HANDLERS: Final[Mapping[str, Handler]] = {
    "help": info.show_help,
    "keys": info.show_keys,
    "status": stats.show_status,
    "todo": info.show_todo,
    "trace": session.show_trace,
    "context": lambda context, _: context.app.push_screen(ContextSheet(context)),
    "map": lambda context, argument: context.app.push_screen(MapScreen(context, argument)),
    "diff": diff.show_diff,
    "cost": stats.show_cost,
    "tools": info.show_tools,
    "plugins": info.show_plugins,
    "memory": knowledge.show_memory,
    "jobs": lambda context, _: context.app.push_screen(JobsScreen(context)),
    "doctor": reports.show_doctor,
    "sidebar": info.toggle_sidebar,
    "palette": info.open_palette,
    "model": model.choose_model_or_provider,
    "models": info.show_models,
    "provider": model.set_up_provider,
    "keep_model": model.keep_model,
    "base_url": model.use_base_url,
    "local": model.use_local_model,
    "reasoning": choices.choose_effort,
    "agent": choices.choose_agent,
    "policy": choices.choose_policy,
    "next_policy": choices.next_policy,
    "plan": lambda context, _: context.set_policy("plan"),
    "accept_edits": lambda context, _: context.set_policy("accept-edits"),
    "limit_cost": choices.limit_cost,
    "theme": choices.choose_theme,
    "session": session.show_or_open_session,
    "sessions": lambda context, _: context.app.push_screen(SessionsScreen(context)),
    "open_session": session.switch,
    "new": session.start_session,
    "reset_session": session.reset_session,
    "resume": session.resume,
    "pause": session.pause,
    "rename": _needs_argument("/rename needs a name, for example /rename night shift.", session.rename),
    "unqueue": session.unqueue,
    "send_queued": session.send_queued,
    "undo": lambda context, _: context.rewind.undo(),
    "redo": lambda context, _: context.rewind.redo(),
    "revert": lambda context, argument: context.rewind.revert(argument),
    "replay": replay.open_replay,
    "tree": lambda context, _: context.app.push_screen(TreeScreen(context)),
    "fork": branches.fork,
    "what_if": branches.what_if,
    "checkpoints": lambda context, _: context.app.push_screen(CheckpointsScreen(context)),
    "compare": branches.compare,
    "export": reports.export,
    "bug": reports.report_bug,
    "run": _needs_argument(
        "/run needs a command, for example /run git status. !git status does the same.", shell.run_command
    ),
    "read": _needs_argument(
        "/read needs a path, for example /read src/app.py. @src/app.py in a message mentions it.",
        shell.read_file,
    ),
    "search": _needs_argument("/search needs a text, for example /search duration(.", shell.search_files),
    "delegate": choices.delegate_task,
    "compact": compaction.compact,
    "skills": knowledge.choose_skill,
    "init": knowledge.write_guide,
    "copy": shell.copy_answer,
    "editor": shell.edit_message,
    "trust": lambda context, _: context.show_trust(),
    "find": lambda context, argument: context.chat.find(argument),
    "to_chat": lambda context, _: context.chat.focus(),
    "to_end": lambda context, _: context.chat.to_end(),
    "page_up": lambda context, _: context.chat.page(-1),
    "page_down": lambda context, _: context.chat.page(1),
    "open_block": info.toggle_block,
    "write": lambda context, _: context.prompt.focus(),
    "start": lambda context, argument: context.start_page.choose(argument),
    "play": model.play_demo,
    "demo": lambda context, argument: context.app.leave_for("demo", *filter(None, [argument])),
}
