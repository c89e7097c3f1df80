"""The subcommands `sessions fork` and `sessions what-if`.

`what-if` makes a fork, runs it with one change, and compares it with the original.

Invariant: the parent's log and files do not change.
"""

import argparse
import shutil
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path, PurePosixPath

import anyio
from anyio import to_thread

from tui_agent.cli.compare import compare_named, show
from tui_agent.cli.console.output import say, say_json
from tui_agent.cli.console.shared_options import (
    CONTEXT_MODES,
    SESSION_HELP,
    Verbs,
    add_effort,
    add_flag,
    add_option,
    load_context,
    session_options,
)
from tui_agent.config.project.generated_folders import CACHE_FOLDERS
from tui_agent.config.project.repository import find_repository
from tui_agent.engine.input.command_checks import check_can_continue
from tui_agent.errors import UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.text.labels import describe_folders_left_out, fork_changes
from tui_agent.policy.places.path_places import OWN_WORKSPACE
from tui_agent.protocol.events.session import ForkChange, WorkspaceKind
from tui_agent.protocol.ids import SessionId
from tui_agent.session.fork import (
    FilesAtEvent,
    ForkStart,
    describe_large_files_left_out,
    find_files_at,
    find_fork_start,
    has_present_files,
    save_present_files,
    write_files,
)
from tui_agent.session.fork_workspace import (
    add_worktree,
    fork_checkpoints,
    load_state,
    remove_from_checkpoints,
)
from tui_agent.store.forks import find_fork_point
from tui_agent.store.log_reader import read_records
from tui_agent.wiring.startup_context import StartupContext, load_startup_context
from tui_agent.workspace.checkpoints.checkpoint_limits import read_limits

EXAMPLES = """\
examples:
  tui-agent sessions fork latest --at 40
  tui-agent sessions fork ses_01 --at 40 --worktree ../try-it-again
  tui-agent sessions fork ses_01 --at 40 --folder ../another-way --model openai/MODEL
  tui-agent sessions fork ses_01 --at 57 --result "2 passed, 1 failed"

Without --worktree, --folder or --here, the fork works in a new folder of its own below the data folder, with the files
as they were at that event. Files are recorded only between tool calls. If the event is inside a call that can change
files, the fork starts after the call, or before a call that never ended. At the end of a session that is open, the files
are the present ones, with your newest changes.
To continue a fork without a new message: tui-agent run --go-on --session FORK
"""

WHAT_IF_EXAMPLES = """\
examples:
  tui-agent sessions what-if ses_01 --at 40 --model openai/MODEL
  tui-agent sessions what-if latest --at 57 --result "2 passed, 1 failed"
  tui-agent sessions what-if ses_01 --at 12 --message "the same, but without new dependencies" --json
  tui-agent sessions what-if ses_01 --at 40 --reasoning-effort high --worktree ../try-harder

The fork works in a new folder: DIR, or a folder inside the fork's session folder. The folder has the files as they were at
that event, except ignored, generated and very large files. Actions that the policy would ask about are denied. The exit status is that of
the fork's run. To print the comparison again: tui-agent compare FORK
"""


_NO_CHECKPOINT = (
    "There was no checkpoint at that event: the files are those of the repository's newest commit."
)
_INSIDE_CALL = "Event {chosen} is inside a tool call. The fork starts {side} that call, because files are recorded only between calls."
_NO_GIT = "The fork's folder has no .git, so git does not work there. To use git, fork into a git work tree."


@dataclass(frozen=True, slots=True)
class CreatedFork:
    """A new fork.

    `note`: sentences for the user about limitations, such as files that were left out.
    """

    id: SessionId
    path: Path
    parent: SessionId
    at_seq: int
    workspace: str
    changed: ForkChange
    note: str = ""


def add_verbs(verbs: Verbs) -> None:
    """Add the subcommands `fork` and `what-if` to `verbs`."""
    fork = verbs.add(
        "fork",
        fork_session,
        "create a session that continues from an event of another session",
        examples=EXAMPLES,
    )
    add_arguments(fork)
    what_if_parser = verbs.add(
        "what-if",
        what_if,
        "run a fork with one change, and compare it with the original",
        examples=WHAT_IF_EXAMPLES,
        groups=("folders", "limits", "project"),
    )
    add_arguments(what_if_parser)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select the event, the workspace and the changes of a fork."""
    parser.add_argument("id", metavar="ID", help=SESSION_HELP)
    add_option(parser, "--at SEQ", "the event after which the fork continues", type=int, required=True)
    location = parser.add_mutually_exclusive_group()
    add_option(
        location,
        "--worktree DIR",
        "work in a new git worktree at DIR, with the files as they were at that event",
        type=Path,
    )
    add_option(
        location,
        "--folder DIR",
        "work in the new folder DIR, with the files as they were at that event (no git repository needed)",
        type=Path,
    )
    add_flag(
        location,
        "--here",
        "work in the parent's folder, with the files as they are now; both sessions change them",
    )
    group = parser.add_argument_group("changes")
    add_option(group, "-m --model NAME", "use another model")
    add_effort(group, "use another reasoning effort")
    add_option(group, "--context-mode", "use another context mode", choices=CONTEXT_MODES)
    add_option(
        group,
        "--result TEXT",
        "replace the result of a tool call (- for standard input); --at is an event of this call, or an event at which it is the only unfinished call",
        type=_read_text,
    )
    add_option(
        group,
        "--message TEXT",
        "replace your message (- for standard input); SEQ is that message or the event before it",
        type=_read_text,
    )


def _read_text(argument: str) -> str:
    return sys.stdin.read() if argument == "-" else argument


def fork_session(arguments: argparse.Namespace) -> None:
    """Create a fork and print how to open it."""
    base = load_context(arguments)
    fork = make_fork(base, arguments)
    if arguments.json:
        say_json(as_json(fork))
        return
    say(f"{fork.id}  a fork of {fork.parent} after event {fork.at_seq}, in {fork.workspace or '(unknown)'}")
    changes = fork_changes(fork.changed.model_copy(update={"workspace": ""}))
    if changes:
        say(f"Changes: {'; '.join(changes)}.")
    if fork.note:
        say(fork.note)
    say(f"To open the fork: tui-agent --session {fork.id}")
    say(f"To continue the fork: tui-agent run --go-on --session {fork.id}")


def as_json(fork: CreatedFork) -> dict[str, object]:
    """Return a fork as a JSON object, with only the settings that differ from the parent session."""
    return {
        "id": fork.id,
        "path": str(fork.path),
        "parent": fork.parent,
        "seq": fork.at_seq,
        "workspace": fork.workspace,
        "note": fork.note,
        "changed": fork.changed.model_dump(mode="json", exclude_defaults=True),
    }


def requested_change(arguments: argparse.Namespace) -> ForkChange:
    """Return the requested changes to the session."""
    return ForkChange(
        model=arguments.model or "",
        reasoning_effort=arguments.reasoning_effort,
        context_mode=arguments.context_mode,
        result=arguments.result,
        message=arguments.message,
    )


def make_fork(base: StartupContext, arguments: argparse.Namespace) -> CreatedFork:
    """Create the fork that the arguments describe.

    Without `--worktree`, `--folder` and `--here`, the fork gets a new workspace in its session folder. Raise
    `SessionNotFound`, `UsageError`, `ConfigError`, `CheckpointError` or `StoreError` if no fork was created.
    """
    store, child = base.store, base.ids.session()
    parent = store.resolve(arguments.id)
    home = store.folder(parent)
    find_fork_point(home, arguments.at)
    records = read_records(home, skip_deltas=True)
    request = find_fork_start(records, arguments.at, requested_change(arguments))
    if request.change.model or request.change.reasoning_effort:
        _check_model(base, home, request)
    worktree, folder = _resolve_path(arguments.worktree), _resolve_path(arguments.folder)
    has_own_folder = not (worktree or folder or arguments.here)
    own_folder = store.folder(child) / OWN_WORKSPACE if has_own_folder else None
    try:
        file_bytes = read_limits(base.config.checkpoints).file_bytes
        files = find_files_at(home, request.at_seq)
        is_present = has_present_files(home, records, request.at_seq)
        fork_folder = anyio.run(
            _make_folder, home, files, is_present, worktree, folder or own_folder, file_bytes
        )
        place = {
            "workspace": str(fork_folder.path) if fork_folder.path else "",
            "workspace_kind": fork_folder.kind,
            "left_out_folders": fork_folder.named_left_out,
        }
        changed = request.change.model_copy(update=place)
        store.fork(parent, request.at_seq, child, changed)
    # Also after Ctrl+C: a fork that was not stored must leave no folder behind.
    except BaseException:
        if own_folder is not None:
            shutil.rmtree(store.folder(child), ignore_errors=True)
        raise
    owner = find_fork_point(home, request.at_seq).parent_session
    fork_checkpoints(store.folder(owner), store.folder(child))
    anyio.run(remove_from_checkpoints, store.folder(child), fork_folder.left_out)
    workspace = load_state(store.folder(child)).workspace
    note = " ".join(filter(None, (_start_note(arguments, request), fork_folder.note)))
    return CreatedFork(child, store.folder(child), parent, request.at_seq, workspace, changed, note)


def _start_note(arguments: argparse.Namespace, request: ForkStart) -> str:
    """Return a sentence if the fork does not start at the event that the user named; otherwise an empty string."""
    replaces = request.change.message is not None or request.change.result is not None
    if replaces or request.at_seq == arguments.at:
        return ""
    return _INSIDE_CALL.format(
        chosen=arguments.at, side="after" if request.at_seq > arguments.at else "before"
    )


def _check_model(base: StartupContext, parent: Path, request: ForkStart) -> None:
    settings, change = load_state(parent, request.at_seq).settings, request.change
    if settings is None:
        raise UsageError(f"Up to event {request.at_seq}, the log of {parent.name} does not name a model.")
    base_url = "" if change.model else settings.model.base_url
    effort = change.reasoning_effort or settings.model.effort
    # Imported only here: it loads plugins, and only a change of the model needs it.
    factory = import_module("tui_agent.wiring.models").build_model_factory(base)
    factory.resolve(change.model or settings.model.profile, base_url, effort)


def _resolve_path(path: Path | None) -> Path | None:
    return None if path is None else path.expanduser().resolve()


@dataclass(frozen=True, slots=True)
class ForkFolder:
    """The workspace of a fork.

    - `path`: None if the fork uses the parent's workspace.
    - `note`: sentences for the user about limitations.
    - `left_out`: the generated folders that were left out. Their paths end with `/`.
    """

    path: Path | None = None
    kind: WorkspaceKind = ""
    note: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def named_left_out(self) -> tuple[str, ...]:
        """The folders in `left_out`, without caches. Programs create those again by themselves."""
        return tuple(path for path in self.left_out if PurePosixPath(path).name not in CACHE_FOLDERS)


async def _make_folder(
    home: Path,
    files: FilesAtEvent,
    is_present: bool,
    worktree: Path | None,
    folder: Path | None,
    file_bytes: int,
) -> ForkFolder:
    """Create the workspace of a fork with `files`, or with the present files if `is_present` is True."""
    if worktree is None and folder is None:
        return ForkFolder()
    if is_present and files.commit:
        async with save_present_files(replace(files, note="")) as present:
            return await _make_folder(home, present, False, worktree, folder, file_bytes)
    kind: WorkspaceKind = "worktree"
    if worktree is not None:
        workdir, left_out = await add_worktree(files.workspace, worktree, files.store, files.commit)
        note = files.note if files.commit else _NO_CHECKPOINT
    else:
        assert folder is not None
        left_out = await write_files(files, folder)
        current = Path((await to_thread.run_sync(load_state, home)).workspace)
        lacks_git = find_repository(current) and not find_repository(folder)
        kind, git_note = ("copy_without_git", _NO_GIT) if lacks_git else ("copy", "")
        workdir, note = folder, " ".join(filter(None, (files.note, git_note)))
    fork_folder = ForkFolder(workdir, kind, left_out=left_out)
    large_files = await to_thread.run_sync(
        describe_large_files_left_out, files.workspace, workdir, file_bytes, frozenset(left_out)
    )
    notes = (note, describe_folders_left_out(fork_folder.named_left_out), large_files)
    return replace(fork_folder, note=" ".join(filter(None, notes)))


def what_if(arguments: argparse.Namespace) -> int:
    """Create the fork, run it and print the comparison; return the run's exit status."""
    change = requested_change(arguments)
    if len(fork_changes(change)) != 1:
        raise UsageError(
            "A what-if needs exactly one change.",
            hint="Give one of --model, --reasoning-effort, --context-mode, --result, --message.",
        )
    options = replace(
        session_options(arguments, client="headless", interactive=False), model=None, context_mode=None
    )
    base = load_startup_context(options)
    home = base.store.folder(base.store.resolve(arguments.id))
    _require_open_end(home, arguments.at, change)
    fork = make_fork(base, arguments)
    _print_fork(fork)
    cwd = options.cwd if arguments.cwd is not None else _workspace(home) or options.cwd
    status: int = import_module("tui_agent.cli.run.command").continue_session(
        replace(options, session=fork.id, cwd=cwd)
    )
    show(compare_named(base.store, fork.parent, fork.id), as_json=arguments.json)
    return status


def _print_fork(fork: CreatedFork) -> None:
    """Print the fork on standard error before it runs."""
    changes = "; ".join(fork_changes(fork.changed.model_copy(update={"workspace": ""})))
    say(f"{fork.id}  what if: {changes}, after event {fork.at_seq} of {fork.parent}", file=sys.stderr)
    for line in (f"The fork's workspace is {fork.workspace}", fork.note):
        if line:
            say(line, file=sys.stderr)


def _workspace(home: Path) -> Path | None:
    """Return the workspace of the original session, or None if the workspace is missing."""
    known = Path(load_state(home).workspace)
    return known if known.is_dir() else None


def _require_open_end(home: Path, at_seq: int, change: ForkChange) -> None:
    """Raise `UsageError` if the fork's conversation would end with nothing for the agent to respond to."""
    history = read_records(home, skip_deltas=True)
    request = find_fork_start(history, at_seq, change)
    if change.message is not None:
        return
    records = current_branch([record for record in history if record.seq <= request.at_seq])
    if fold(SessionState(), records).open_calls:
        return
    rejection = check_can_continue(fold(ModelMessages(), records))
    if rejection is not None:
        raise UsageError(
            f"The session cannot continue from event {request.at_seq}: {rejection.reason}",
            hint="Choose the event of a message or of a tool result, or give a new message with --message.",
        )
