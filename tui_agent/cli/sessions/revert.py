"""The subcommands `sessions revert` and `sessions checkpoints`: go back to an event, and list the checkpoints.

Invariant: the session's engine records the revert, so that `/redo` can undo it.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import say, say_json, say_json_lines, table, warn
from tui_agent.cli.console.shared_options import (
    SESSION_HELP,
    Verbs,
    add_flag,
    add_list_option,
    add_option,
    load_context,
    session_options,
)
from tui_agent.errors import TuiAgentError, UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.comparison.net_changes import LineCounter
from tui_agent.folds.projection import fold
from tui_agent.folds.session.checkpoints import Checkpoint, Checkpoints
from tui_agent.folds.text.undo_sentences import describe_remains, describe_restored
from tui_agent.protocol.commands import PlanRevert, Revert
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointPlanned, CheckpointRestored, FolderChange
from tui_agent.protocol.events.session import ErrorRaised, SessionHeadMoved
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.unicode_text import format_count
from tui_agent.session.fork_workspace import load_state
from tui_agent.store.event_search import find_changes_by_others
from tui_agent.store.lineage import has_event, open_blobs
from tui_agent.store.log_reader import iterate_records
from tui_agent.units import describe_line_changes, format_time
from tui_agent.wiring.startup_context import StartupContext, load_startup_context
from tui_agent.workspace.checkpoints.checkpoint_limits import read_limits

if TYPE_CHECKING:  # `sessions` starts without the engine.
    from tui_agent.session.local_session import LocalSession

PayloadT = TypeVar("PayloadT", bound=Payload)
_ACTS = {"write": "restored", "create": "recreated", "remove": "deleted", "mode": "mode restored"}


@dataclass(frozen=True, slots=True)
class RevertResult:
    """The plan of a revert, and the events that recorded its effects.

    `moved`: the event that moved the conversation; None if it was not moved.
    `restored`: the event that restored files; None if no file was restored.
    """

    plan: CheckpointPlanned
    moved: SessionHeadMoved | None = None
    restored: CheckpointRestored | None = None
    needs_answer: bool = False
    """True if nothing was done, because the user must confirm: someone else also changed every file in the plan."""
    blocked: tuple[str, ...] = ()
    """Messages about the files that could not be restored, with the reasons."""


def as_json(session: str, result: RevertResult) -> dict[str, object]:
    """Return the plan and the result of a revert as a JSON object."""
    plan, moved, restored = result.plan, result.moved, result.restored
    return {
        "session": session,
        "to": plan.to_seq,
        "acts": [act.model_dump(mode="json") for act in plan.changes],
        "more": plan.unlisted_count,
        "unavailable": plan.unavailable,
        "moved_from": None if moved is None else moved.from_seq,
        "reason": None if moved is None else moved.reason,
        "kept_commits": [] if moved is None else list(moved.kept_commits),
        "kept_stashes": [] if moved is None else list(moved.kept_stashes),
        "outside": [] if moved is None else list(moved.outside_paths),
        "deleted": [] if moved is None else list(moved.deleted_paths),
        "restored": None if restored is None else list(restored.paths),
        "restored_more": 0 if restored is None else restored.unlisted_count,
        "kept": [] if restored is None else list(restored.skipped_paths),
        "folders": [
            folder.model_dump(mode="json") for folder in (plan if restored is None else restored).folders
        ],
    }


def print_plan(plan: CheckpointPlanned) -> None:
    """Print what a revert would do to each file."""
    if plan.unavailable:
        say(plan.unavailable)
        return
    if not plan.changes and not plan.folders:
        say("No file would change.")
        return
    rows = [
        [
            act.path,
            _ACTS[act.operation],
            f"+{act.added}" if act.added else "",
            f"-{act.removed}" if act.removed else "",
            act.conflict,
        ]
        for act in plan.changes
    ]
    rows += [
        [
            folder.path,
            format_count(folder.files + folder.conflicts, "generated file"),
            "",
            "",
            _describe_conflicts(folder),
        ]
        for folder in plan.folders
    ]
    table(rows, ["path", "action", "+", "-", "conflict"])
    if plan.unlisted_count:
        say(f"and {format_count(plan.unlisted_count, 'more file')}")


def print_result(result: RevertResult, request: Revert) -> None:
    """Print what a revert did to the conversation and the files."""
    moved, restored = result.moved, result.restored
    if moved is not None and request.conversation:
        say(f"The conversation is now at event {moved.to_seq}; it was at event {moved.from_seq}.")
        for sentence in describe_remains(moved):
            say(sentence)
    folders = {folder.path for folder in result.plan.folders}
    known = (
        folders
        | {act.path for act in result.plan.changes}
        | set(restored.paths if restored is not None else ())
    )
    unknown = [path for path in request.overwrite if path not in known]
    if unknown and request.files and not result.plan.unlisted_count:
        warn(f"There is no change to restore in {', '.join(unknown)}.")
    if request.files and result.plan.unavailable:
        say(f"The files were not changed: {result.plan.unavailable}")
    elif request.files and restored is None:
        say("No files needed to be restored.")
    if restored is None:
        return
    say(describe_restored(restored))
    for path in restored.paths:
        say(f"  {path}")
    kept_paths = [*restored.skipped_paths, *(path for path, _ in restored.kept_folders)]
    if kept_paths:
        say(
            "Kept, because you or another session also changed them (to restore one: --files --overwrite PATH):"
        )
        for path in kept_paths:
            reason = restored.skipped_reasons.get(path, "")
            say(f"  {path}" + (f"  {reason}" if reason else ""))


def _describe_conflicts(folder: FolderChange) -> str:
    return f"{format_count(folder.conflicts, 'file')} kept" if folder.conflicts else ""


EXAMPLES = """\
examples:
  tui-agent sessions revert ses_01 --to 40 --preview
  tui-agent sessions revert ses_01 --to 40
  tui-agent sessions revert latest --to 40 --files --overwrite src/app.py
  tui-agent sessions revert ses_01 --to 40 --conversation --json

Nothing is lost: /redo in the app, or a revert to the event you came from, restores the previous state. Files that you or
another session also changed are kept; to restore one anyway, use --overwrite. Exit status 4: nothing was done, because
every file was also changed by you or another session. Exit status 1: a file could not be
restored; the reason is printed on standard error.
"""
CHECKPOINT_EXAMPLES = """\
examples:
  tui-agent sessions checkpoints latest
  tui-agent sessions checkpoints ses_01 --json | jq 'select(.author == "human") | .files[].path'
"""
CHECKPOINT_HEADS = ("event", "time", "part", "author", "lines", "files")


def add_verbs(verbs: Verbs) -> None:
    """Add the subcommands `revert` and `checkpoints` to `verbs`."""
    parser = verbs.add("revert", revert_session, "revert a session to one of its events", examples=EXAMPLES)
    parser.add_argument("id", metavar="ID", help=SESSION_HELP)
    add_option(parser, "--to SEQ", "the event to revert to", type=int, required=True)
    add_flag(parser, "--preview", "only show what would happen to each file")
    scope = parser.add_mutually_exclusive_group()
    add_flag(scope, "--conversation", "only the conversation, not the files")
    add_flag(scope, "--files", "only the files, not the conversation")
    add_list_option(
        parser,
        "--overwrite PATH",
        "restore this file although you or another session also changed it (can be repeated)",
    )
    states = verbs.add(
        "checkpoints",
        show_checkpoints,
        "list the states of the files that you can restore",
        examples=CHECKPOINT_EXAMPLES,
    )
    states.add_argument("id", metavar="ID", help=SESSION_HELP)


def revert_session(arguments: argparse.Namespace) -> int:
    """Revert the session, or with --preview only list what would happen to its files."""
    # A revert does not use the project's own configuration, so no trust decision is needed.
    options = replace(session_options(arguments, client="headless", interactive=False), ignore_project=True)
    base = load_startup_context(options)
    session = base.store.resolve(arguments.id)
    if not has_event(base.store.folder(session), arguments.to):
        raise UsageError(
            f"Event {arguments.to} not found in {session}.",
            hint=f"To list its events: tui-agent sessions show {session}",
        )
    if arguments.preview:
        _preview(arguments, session, base)
        return Exit.DONE
    request = Revert(
        to_seq=arguments.to,
        conversation=not arguments.files,
        files=not arguments.conversation,
        overwrite=_workspace_paths(arguments.overwrite, base.store.folder(session)),
    )
    options = replace(options, session=session, timeout_seconds=None)  # do not change the session's limits
    # No model is called, so none has to be configured, and the session's model must not change.
    config = base.config.model_copy(update={"model": "", "base_url": "", "investigator_profile": ""})
    result = _revert(replace(base, options=options, config=config), request)
    if arguments.json:
        say_json(as_json(session, result))
    elif not result.needs_answer:
        print_result(result, request)
    for reason in result.blocked:
        warn(reason)
    if not result.needs_answer:
        return Exit.FAILED if result.blocked else Exit.DONE
    paths = ", ".join(act.path for act in result.plan.changes)
    warn(
        f"Nothing was restored, because you or another session also changed these files: {paths}. "
        "To restore one anyway, add --overwrite PATH."
    )
    return Exit.DENIED


def _revert(base: StartupContext, request: Revert) -> RevertResult:
    """Open the session selected by the options of `base`, revert it and close it.

    Raise `SessionLocked` or `StoreError` if the session cannot be opened. Raise `TuiAgentError` if the engine rejects a
    command.
    """
    # Imported only here, because it loads the engine.
    use_session = import_module("tui_agent.cli.run.command").use_session
    with redirect_stdout(sys.stderr):  # plugins may print
        result: RevertResult = anyio.run(use_session, base.options, base, partial(_plan_and_revert, request))
    return result


async def _plan_and_revert(request: Revert, session: "LocalSession") -> RevertResult:
    """Ask the engine for a plan, and carry the plan out.

    If someone else also changed every file in the plan, no file is restored without `--overwrite`.
    """
    submit_and_wait = import_module("tui_agent.session.headless_turn").submit_and_wait
    follower = session.log.follow(session.log.last_seq)
    try:
        plan = _first_payload(
            await submit_and_wait(session, follower, PlanRevert(to_seq=request.to_seq)), CheckpointPlanned
        )
        assert plan is not None, "the engine answers or refuses"
        conflicts = [act.path for act in plan.changes if act.conflict and act.path not in request.overwrite]
        conflicts += [
            folder.path
            for folder in plan.folders
            if not folder.files and folder.path not in request.overwrite
        ]
        planned = len(plan.changes) + len(plan.folders)
        has_only_conflicts = len(conflicts) == planned and not plan.unlisted_count
        if conflicts and has_only_conflicts and not request.conversation:
            return RevertResult(plan, needs_answer=True)
        if request.files and not request.conversation and plan.unavailable:
            raise TuiAgentError(
                plan.unavailable, hint="You can revert the conversation alone with --conversation."
            )
        events = await submit_and_wait(session, follower, request)
        errors = [event.payload for event in events if isinstance(event.payload, ErrorRaised)]
        blocked = tuple(error.message for error in errors if error.where == "checkpoints")
        restored = _first_payload(events, CheckpointRestored)
        moved = _first_payload(events, SessionHeadMoved)
        return RevertResult(plan, moved, restored, blocked=blocked if restored else ())
    finally:
        follower.close()


def _first_payload(events: Sequence[Envelope], kind: type[PayloadT]) -> PayloadT | None:
    return next((event.payload for event in events if isinstance(event.payload, kind)), None)


def _workspace_paths(paths: Sequence[str], folder: Path) -> tuple[str, ...]:
    relative = []
    for path in paths:
        target = os.path.normpath(path)
        if Path(target).is_absolute():
            target = os.path.relpath(target, load_state(folder).workspace)
        relative.append(Path(target).as_posix())
    return tuple(relative)


def _preview(arguments: argparse.Namespace, session: str, base: StartupContext) -> None:
    """Print what a revert would do to each file, without opening the session."""
    planning = import_module("tui_agent.session.revert_preview")
    limits = read_limits(base.config.checkpoints)
    read_others = partial(find_changes_by_others, base.store, session)
    plan: CheckpointPlanned = anyio.run(
        planning.plan_revert, base.store.folder(session), arguments.to, limits, read_others
    )
    if arguments.json:
        say_json(as_json(session, RevertResult(plan)))
    else:
        print_plan(plan)


def show_checkpoints(arguments: argparse.Namespace) -> None:
    """Print a line for each checkpoint of a session, oldest first."""
    store = load_context(arguments).store
    folder = store.find(arguments.id)
    lines = LineCounter(open_blobs(folder).find)
    taken = [
        replace(checkpoint, files=lines.count_all(checkpoint.files))
        for checkpoint in fold(Checkpoints(), iterate_records(folder))
    ]
    if arguments.json:
        say_json_lines(map(asdict, taken))
    elif taken:
        table([_row(checkpoint) for checkpoint in taken], CHECKPOINT_HEADS)
    else:
        say("No checkpoints: no file was changed.")


def _row(checkpoint: Checkpoint) -> list[str]:
    added = sum(file.added for file in checkpoint.files)
    removed = sum(file.removed for file in checkpoint.files)
    paths = [file.path for file in checkpoint.files]
    if checkpoint.unlisted_count:
        paths.append(f"and {checkpoint.unlisted_count} more")
    notes = {"restored": checkpoint.restored, "on another branch": not checkpoint.on_branch}
    files = ", ".join(paths) or (
        "the files as they were before the session" if checkpoint.part < 0 else "no files"
    )
    part = str(checkpoint.part) if checkpoint.part >= 0 else "-"
    description = files + "".join(f" ({note})" for note, applies in notes.items() if applies)
    has_counts = added or removed or not checkpoint.restored  # The log has no line counts for a restore.
    lines = describe_line_changes(added, removed, "-") if has_counts else ""
    time = format_time(checkpoint.time)
    return [str(checkpoint.seq), time, part, checkpoint.author, lines, description]
