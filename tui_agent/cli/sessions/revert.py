"""The verb `sessions revert`: conversation and files, or one of them, as they were after an event.

Invariant: what goes back is a command of the session's engine, so that `/undo` and `/redo` know of it. A file that
someone else changed too is left alone unless it is named.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from tui_agent.cli.exit_codes import Exit
from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import say, say_json, table
from tui_agent.cli.sessions.maintenance import WHICH
from tui_agent.errors import UsageError
from tui_agent.protocol.events.files import CheckpointPlanned, CheckpointRestored
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.session.fork_workspace import state_of
from tui_agent.store.lineage import stands
from tui_agent.wiring.base import Ground, ground
from tui_agent.workspace.checkpoints.limits import limits_of

if TYPE_CHECKING:
    from tui_agent.cli.sessions.revert_run import Reverted, Wish

EXAMPLES = """\
examples:
  tui-agent sessions revert ses_01 --to 40 --preview
  tui-agent sessions revert ses_01 --to 40
  tui-agent sessions revert latest --to 40 --files --overwrite src/app.py
  tui-agent sessions revert ses_01 --to 40 --conversation --json

Nothing is lost: `/redo` in the app, or going to the event where it stood before, brings all back. Files that someone
else changed too are left alone unless --overwrite names them. Exit status 4: every file asks first, nothing was done.
Exit status 1: a file could not be put back, whatever is answered; which and why stands on standard error.
"""
_ACTS = {"write": "as it was", "create": "comes back", "remove": "goes away", "mode": "its mode"}


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """The verb `revert`."""
    parser = add_verb(
        verbs, "revert", revert_session, help="go back to an event of a session", examples=EXAMPLES
    )
    parser.add_argument("id", metavar="ID", help=WHICH)
    parser.add_argument(
        "--to", metavar="SEQ", type=int, required=True, help="the event after which it is to stand"
    )
    parser.add_argument("--preview", action="store_true", help="only say what would happen to which file")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--conversation", action="store_true", help="the files stay as they are")
    which.add_argument("--files", action="store_true", help="the conversation stays as it is")
    parser.add_argument(
        "--overwrite",
        metavar="PATH",
        action="append",
        default=[],
        help="put this file back although someone else changed it too (may be given again)",
    )


def revert_session(arguments: argparse.Namespace) -> int:
    """Go back, or say what that would do."""
    # It takes nothing from a project, so that none has to be trusted for it.
    options = replace(session_options(arguments, client="headless", interactive=False), ignore_project=True)
    base = ground(options)
    session = base.store.resolve(arguments.id)
    if not stands(base.store.folder(session), arguments.to):
        raise UsageError(
            f"There is no event {arguments.to} in {session}.",
            hint=f"`sessions show {session}` shows its events.",
        )
    if arguments.preview:
        _preview(arguments, session, base)
        return Exit.DONE
    reverting = import_module("tui_agent.cli.sessions.revert_run")
    wish = reverting.Wish(
        to_seq=arguments.to,
        conversation=not arguments.files,
        files=not arguments.conversation,
        overwrite=_as_recorded(arguments.overwrite, base.store.folder(session)),
    )
    options = replace(options, session=session, timeout_seconds=None)  # none of its limits is to change
    # No model is asked, so that none has to be usable for it; the session keeps its own.
    config = base.config.model_copy(update={"model": "", "base_url": "", "investigator_profile": ""})
    done: Reverted = reverting.revert(replace(base, options=options, config=config), wish)
    if arguments.json:
        say_json(as_json(session, done.plan, done.moved, done.restored))
    elif not done.needs_answer:
        _show_done(done, wish)
    for why in done.blocked:
        say(f"tui-agent: {why}", file=sys.stderr)
    if not done.needs_answer:
        return Exit.FAILED if done.blocked else Exit.DONE
    paths = ", ".join(act.path for act in done.plan.acts)
    say(
        f"tui-agent: Nothing was put back: someone else changed each of these files too: {paths}. "
        "--overwrite PATH puts one back all the same.",
        file=sys.stderr,
    )
    return Exit.DENIED


def _as_recorded(paths: Sequence[str], folder: Path) -> tuple[str, ...]:
    """The paths as checkpoints name them: from the workspace on."""
    found = []
    for path in paths:
        meant = os.path.normpath(path)
        if Path(meant).is_absolute():
            meant = os.path.relpath(meant, state_of(folder).workspace)
        found.append(Path(meant).as_posix())
    return tuple(found)


def _preview(arguments: argparse.Namespace, session: str, base: Ground) -> None:
    """Only say what would happen; the session is not opened."""
    planning = import_module("tui_agent.session.revert_plan")
    limits = limits_of(base.config.checkpoints)
    plan: CheckpointPlanned = anyio.run(planning.planned, base.store.folder(session), arguments.to, limits)
    if arguments.json:
        say_json(as_json(session, plan))
    else:
        _show_plan(plan)


def as_json(
    session: str,
    plan: CheckpointPlanned,
    moved: SessionHeadMoved | None = None,
    restored: CheckpointRestored | None = None,
) -> dict[str, object]:
    """The plan, and what was done, as one JSON object."""
    return {
        "session": session,
        "to": plan.to_seq,
        "acts": [act.model_dump(mode="json") for act in plan.acts],
        "more": plan.more,
        "unavailable": plan.unavailable,
        "moved_from": None if moved is None else moved.from_seq,
        "reason": None if moved is None else moved.reason,
        "restored": None if restored is None else list(restored.paths),
        "restored_more": 0 if restored is None else restored.more,
        "kept": [] if restored is None else list(restored.kept),
    }


def _show_plan(plan: CheckpointPlanned) -> None:
    if plan.unavailable:
        say(plan.unavailable)
        return
    if not plan.acts:
        say("No file would change.")
        return
    table([_row(plan, at) for at in range(len(plan.acts))], ["path", "what", "+", "-", "asks first, since"])
    if plan.more:
        say(f"and {plan.more} more files")


def _row(plan: CheckpointPlanned, at: int) -> Sequence[str]:
    act = plan.acts[at]
    return [act.path, _ACTS[act.act], f"+{act.added}", f"-{act.removed}", act.conflict]


def _show_done(done: "Reverted", wish: "Wish") -> None:
    moved, restored = done.moved, done.restored
    if moved is not None:
        say(f"The conversation stands after event {moved.to_seq}. It stood after event {moved.from_seq}.")
    known = {act.path for act in done.plan.acts} | set(restored.paths if restored is not None else ())
    unknown = [path for path in wish.overwrite if path not in known]
    if unknown and wish.files and not done.plan.more:
        say(f"tui-agent: Nothing is to be put back at {', '.join(unknown)}.", file=sys.stderr)
    if wish.files and done.plan.unavailable:
        say(f"The files are as they were: {done.plan.unavailable}")
    elif wish.files and restored is None:
        say("No file had to change.")
    if restored is None:
        return
    count = len(restored.paths) + restored.more
    say("1 file was put back." if count == 1 else f"{count} files were put back.")
    for path in restored.paths:
        say(f"  {path}")
    if restored.kept:
        say("Left alone, since someone else changed them too (--files --overwrite PATH puts one back):")
        for path in restored.kept:
            say(f"  {path}")
