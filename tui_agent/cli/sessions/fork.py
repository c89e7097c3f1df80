"""The subcommands `sessions fork` and `sessions what-if`.

`what-if` makes a fork, runs it with one change, and compares it with the original.

Invariant: the parent's log and files do not change. If the fork's workspace cannot be created, there is no fork. A
what-if never works in the original's folder, and actions that the policy would ask about are denied.
"""

import argparse
import shutil
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import anyio
from anyio import to_thread

from tui_agent.cli.compare import compare_named, show
from tui_agent.cli.exit_codes import Exit
from tui_agent.cli.options import CONTEXT_MODES, EFFORTS, SESSION_HELP, Verbs, load_context, session_options
from tui_agent.cli.output import say, say_json
from tui_agent.engine.command_checks import check_can_continue
from tui_agent.errors import UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.base import current_branch, fold
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.text.labels import fork_changes
from tui_agent.policy.places.paths import OWN_WORKSPACE
from tui_agent.protocol.base import SessionId
from tui_agent.protocol.events.session import ForkChange
from tui_agent.session.fork_files import describe_left_out, find_files_at, read_records_until, write_files
from tui_agent.session.fork_start import ForkStart, find_fork_start
from tui_agent.session.fork_workspace import add_worktree, fork_checkpoints, load_state
from tui_agent.store.forks import find_fork_point
from tui_agent.wiring.startup_context import StartupContext, load_startup_context
from tui_agent.workspace.checkpoints.checkpoint_limits import read_limits

EXAMPLES = """\
examples:
  tui-agent sessions fork latest --at 40
  tui-agent sessions fork ses_01 --at 40 --worktree ../try-it-again
  tui-agent sessions fork ses_01 --at 40 --folder ../another-way --model openai/MODEL
  tui-agent sessions fork ses_01 --at 57 --result "2 passed, 1 failed"

Without --worktree, --folder or --here, the fork works in a new folder of its own below the data folder, with the files
as they were at that event.
To continue a fork without a new message: tui-agent run --go-on --session FORK
"""

WHAT_IF_EXAMPLES = """\
examples:
  tui-agent sessions what-if ses_01 --at 40 --model openai/MODEL
  tui-agent sessions what-if latest --at 57 --result "2 passed, 1 failed"
  tui-agent sessions what-if ses_01 --at 12 --message "the same, but without new dependencies" --json
  tui-agent sessions what-if ses_01 --at 40 --reasoning-effort high --worktree ../try-harder

The fork works in a new folder: DIR, or a folder inside the fork's session folder. The folder has the files as they were at
that event, except ignored and very large files. Actions that the policy would ask about are denied. The exit status is that of
the fork's run. To print the comparison again: tui-agent compare FORK
"""


_NO_CHECKPOINT = (
    "There was no checkpoint at that event: the files are those of the repository's newest commit."
)


@dataclass(frozen=True, slots=True)
class CreatedFork:
    """A fork that was created.

    `note` lists files that were left out. If the files are not from a checkpoint at event `at_seq`, `note` also
    says where they come from.
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
    """Add the arguments that select the session and the event, and the options for the fork's workspace and changes."""
    parser.add_argument("id", metavar="ID", help=SESSION_HELP)
    parser.add_argument(
        "--at", metavar="SEQ", type=int, required=True, help="the event after which the fork continues"
    )
    location = parser.add_mutually_exclusive_group()
    location.add_argument(
        "--worktree",
        metavar="DIR",
        type=Path,
        help="work in a new git worktree at DIR, with the files as they were at that event",
    )
    location.add_argument(
        "--folder",
        metavar="DIR",
        type=Path,
        help="work in the new folder DIR, with the files as they were at that event (no git repository needed)",
    )
    location.add_argument(
        "--here",
        action="store_true",
        help="work in the parent's folder, with the files as they are now; both sessions change them",
    )
    group = parser.add_argument_group("changes")
    group.add_argument("-m", "--model", metavar="NAME", help="use another model")
    group.add_argument("--reasoning-effort", choices=EFFORTS, help="use another reasoning effort")
    group.add_argument("--context-mode", choices=CONTEXT_MODES, help="use another context mode")
    group.add_argument(
        "--result",
        metavar="TEXT",
        help="replace the result of a tool call; SEQ is an event of the call, or an event while only that call runs",
    )
    group.add_argument(
        "--message",
        metavar="TEXT",
        help="replace your message; SEQ is that message or the event before it",
    )


def fork_session(arguments: argparse.Namespace) -> int:
    """Create a fork and print how to open it."""
    base = load_context(arguments)
    fork = make_fork(base, arguments)
    if arguments.json:
        say_json(as_json(fork))
        return Exit.DONE
    say(f"{fork.id}  a fork of {fork.parent} after event {fork.at_seq}, in {fork.workspace or '(unknown)'}")
    changes = fork_changes(fork.changed.model_copy(update={"workspace": ""}))
    if changes:
        say(f"Changes: {'; '.join(changes)}.")
    if fork.note:
        say(fork.note)
    say(f"To open the fork: tui-agent --session {fork.id}")
    say(f"To continue the fork: tui-agent run --go-on --session {fork.id}")
    return Exit.DONE


def as_json(fork: CreatedFork) -> dict[str, object]:
    """Return a fork as a JSON object. `changed` contains only the settings that differ from the parent session."""
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
    """Return the changes to the session that the options specify."""
    return ForkChange(
        model=arguments.model or "",
        reasoning_effort=arguments.reasoning_effort,
        context_mode=arguments.context_mode,
        result=arguments.result,
        message=arguments.message,
    )


def make_fork(base: StartupContext, arguments: argparse.Namespace) -> CreatedFork:
    """Create the fork that the arguments describe.

    With `--worktree` or `--folder`, the fork works in the given folder. With `--here`, it works in the parent's
    workspace. Otherwise it works in a new folder inside the fork's session folder. If `SessionNotFound`, `UsageError`,
    `ConfigError`, `CheckpointError` or `StoreError` is raised, no fork exists.
    """
    store, child = base.store, base.ids.session()
    parent = store.resolve(arguments.id)
    home = store.folder(parent)
    find_fork_point(home, arguments.at)
    request = find_fork_start(
        read_records_until(home, arguments.at), arguments.at, requested_change(arguments)
    )
    if request.change.model or request.change.reasoning_effort:
        _check_model(base, home, request)
    worktree, folder = _resolve_path(arguments.worktree), _resolve_path(arguments.folder)
    has_own_folder = not (worktree or folder or arguments.here)
    own_folder = store.folder(child) / OWN_WORKSPACE if has_own_folder else None
    try:
        file_bytes = read_limits(base.config.checkpoints).file_bytes
        workdir, note = anyio.run(
            _make_folder, home, request.at_seq, worktree, folder or own_folder, file_bytes
        )
        changed = request.change.model_copy(update={"workspace": str(workdir) if workdir else ""})
        store.fork(parent, request.at_seq, child, changed)
    except BaseException:
        if own_folder is not None:
            shutil.rmtree(store.folder(child), ignore_errors=True)
        raise
    owner = find_fork_point(home, request.at_seq).parent_session
    fork_checkpoints(store.folder(owner), store.folder(child))
    workspace = load_state(store.folder(child)).workspace
    return CreatedFork(child, store.folder(child), parent, request.at_seq, workspace, changed, note)


def _check_model(base: StartupContext, parent: Path, request: ForkStart) -> None:
    settings, change = load_state(parent, request.at_seq).settings, request.change
    if settings is None:
        raise UsageError(
            f"The log of {parent.name} does not contain the session's model at event {request.at_seq}."
        )
    base_url = "" if change.model else settings.model.base_url
    effort = change.reasoning_effort or settings.model.effort
    # Imported only here: it loads plugins, and only a change of the model needs it.
    factory = import_module("tui_agent.wiring.models").build_model_factory(base)
    factory.resolve(change.model or settings.model.profile, base_url, effort)


def _resolve_path(path: Path | None) -> Path | None:
    return None if path is None else path.expanduser().resolve()


async def _make_folder(
    home: Path, at_seq: int, worktree: Path | None, folder: Path | None, file_bytes: int
) -> tuple[Path | None, str]:
    """Create the workspace of a fork. Return its path and a note for the user. Larger files than `file_bytes` are left
    out.

    If the fork works in the parent's workspace, return None and an empty note.
    """
    if worktree is None and folder is None:
        return None, ""
    files = find_files_at(home, at_seq)
    if worktree is not None:
        workdir = await add_worktree(files.workspace, worktree, files.store, files.commit)
        note = files.note if files.commit else _NO_CHECKPOINT
    else:
        assert folder is not None
        await write_files(files, folder)
        workdir, note = folder, files.note
    left_out = await to_thread.run_sync(describe_left_out, files.workspace, workdir, file_bytes)
    return workdir, " ".join(filter(None, (note, left_out)))


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
    """Print the fork on standard error before it runs, because the fork remains even if its run fails."""
    changes = "; ".join(fork_changes(fork.changed.model_copy(update={"workspace": ""})))
    say(f"{fork.id}  what if: {changes}, after event {fork.at_seq} of {fork.parent}", file=sys.stderr)
    for line in (f"The fork's workspace is {fork.workspace}", fork.note):
        if line:
            say(line, file=sys.stderr)


def _workspace(home: Path) -> Path | None:
    """Return the original session's workspace; None if it is missing.

    The workspace's configuration applies to the fork.
    """
    known = Path(load_state(home).workspace)
    return known if known.is_dir() else None


def _require_open_end(home: Path, at_seq: int, change: ForkChange) -> None:
    """Raise `UsageError` if the fork's conversation would end with nothing for the agent to respond to."""
    request = find_fork_start(read_records_until(home, at_seq), at_seq, change)
    if change.message is not None:
        return
    records = current_branch(read_records_until(home, request.at_seq))
    if fold(SessionState(), records).open_calls:
        return
    rejection = check_can_continue(fold(ModelMessages(), records))
    if rejection is not None:
        raise UsageError(
            f"The session cannot continue from event {request.at_seq}: {rejection.reason}",
            hint="Choose an event after a message or tool result, or replace the message with --message.",
        )
