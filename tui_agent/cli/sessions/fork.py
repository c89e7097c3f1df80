"""The verb `sessions fork`: a new session that goes on from an event of another, with something different in it.

Invariant: the parent's log and files stay as they are; a fork whose folder cannot be made is not made.
"""

import argparse
import shutil
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import anyio

from tui_agent.cli.exit_codes import Exit
from tui_agent.cli.options import CONTEXT_MODES, EFFORTS, Parser, add_verb, session_options
from tui_agent.cli.output import say, say_json
from tui_agent.cli.sessions.maintenance import WHICH
from tui_agent.folds.text.labels import fork_changes
from tui_agent.policy.places.paths import OWN_WORKSPACE
from tui_agent.protocol.events.session import ForkChange
from tui_agent.protocol.ids import SessionId
from tui_agent.session.fork_files import add_folder, files_then, records_until
from tui_agent.session.fork_request import beginning
from tui_agent.session.fork_workspace import add_worktree, fork_checkpoints, state_of
from tui_agent.store.forks import fork_point
from tui_agent.wiring.base import Ground, ground

EXAMPLES = """\
examples:
  tui-agent sessions fork latest --at 40
  tui-agent sessions fork ses_01 --at 40 --worktree ../try-it-again
  tui-agent sessions fork ses_01 --at 40 --folder ../another-way --model openai/MODEL
  tui-agent sessions fork ses_01 --at 57 --result "2 passed, 1 failed"

Without --worktree or --folder the fork works where its parent does, with the files as they are by then.
What is different is taken on when the fork is opened first; `run --go-on --session FORK` lets it go on.
"""


@dataclass(frozen=True, slots=True)
class Made:
    """A fork that is there. `note` says where its files come from, if that is not just the event."""

    id: SessionId
    path: Path
    parent: SessionId
    at: int
    workspace: str
    changed: ForkChange
    note: str = ""


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """The verb `fork`."""
    fork = add_verb(
        verbs,
        "fork",
        fork_session,
        help="a new session that goes on from an event of another",
        examples=EXAMPLES,
    )
    add_arguments(fork)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which event, where to work, and what is different."""
    parser.add_argument("id", metavar="ID", help=WHICH)
    parser.add_argument(
        "--at", metavar="SEQ", type=int, required=True, help="the last event that it takes over"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--worktree",
        metavar="DIR",
        type=Path,
        help="work in a new git work tree at DIR, with the files as they were at that event",
    )
    where.add_argument(
        "--folder",
        metavar="DIR",
        type=Path,
        help="work in the new folder DIR, with the files as they were at that event (no git repository needed)",
    )
    group = parser.add_argument_group("what is different")
    group.add_argument("-m", "--model", metavar="NAME", help="another model, as everywhere")
    group.add_argument("--reasoning-effort", choices=EFFORTS, help="another reasoning effort")
    group.add_argument("--context-mode", choices=CONTEXT_MODES, help="another context mode")
    group.add_argument(
        "--result",
        metavar="TEXT",
        help="another result of a tool call: SEQ is an event of that call, or one at which only it is open",
    )
    group.add_argument(
        "--message",
        metavar="TEXT",
        help="another message of yours: SEQ is the message that it takes the place of, or the event before",
    )


def fork_session(arguments: argparse.Namespace) -> int:
    """Make a fork and say how to open it."""
    base = ground(session_options(arguments, client="headless", interactive=False))
    made = make_fork(base, arguments, arguments.worktree, arguments.folder)
    if arguments.json:
        say_json(as_json(made))
        return Exit.DONE
    say(f"{made.id}  a fork of {made.parent} after event {made.at}, in {made.workspace or '(unknown)'}")
    different = fork_changes(made.changed.model_copy(update={"workspace": ""}))
    if different:
        say(f"Different: {'; '.join(different)}.")
    if made.note:
        say(made.note)
    say(f"Open it: tui-agent --session {made.id}")
    say(f"Let it go on: tui-agent run --go-on --session {made.id}")
    return Exit.DONE


def as_json(made: Made) -> dict[str, object]:
    """A fork as one JSON object; of `changed` only what is different."""
    return {
        "id": made.id,
        "path": str(made.path),
        "parent": made.parent,
        "at": made.at,
        "workspace": made.workspace,
        "changed": made.changed.model_dump(mode="json", exclude_defaults=True),
    }


def wished(arguments: argparse.Namespace) -> ForkChange:
    """What the options say is to be different."""
    return ForkChange(
        model=arguments.model or "",
        reasoning_effort=arguments.reasoning_effort,
        context_mode=arguments.context_mode,
        result=arguments.result,
        message=arguments.message,
    )


def make_fork(
    base: Ground,
    arguments: argparse.Namespace,
    worktree: Path | None,
    folder: Path | None,
    *,
    own: bool = False,
) -> Made:
    """Make the fork that the options name. `own`: in a folder of its own below the fork's, where no other is named.

    Raises `SessionNotFound`, `UsageError`, `ConfigError`, `CheckpointError`, `StoreError`; nothing is left then.
    """
    store, child = base.store, base.ids.session()
    parent = store.resolve(arguments.id)
    home = store.folder(parent)
    fork_point(home, arguments.at)
    wish = beginning(records_until(home, arguments.at), arguments.at, wished(arguments))
    if wish.change.model or wish.change.reasoning_effort:
        import_module("tui_agent.cli.sessions.fork_model").check(base, home, wish)
    place = store.folder(child) / OWN_WORKSPACE if own and not (worktree or folder) else None
    try:
        below, note = anyio.run(_place, home, wish.at_seq, _whole(worktree), _whole(folder) or place)
        changed = wish.change.model_copy(update={"workspace": str(below) if below else ""})
        store.fork(parent, wish.at_seq, child, changed)
    except BaseException:
        if place is not None:
            shutil.rmtree(store.folder(child), ignore_errors=True)
        raise
    owner = fork_point(home, wish.at_seq).parent_session
    fork_checkpoints(store.folder(owner), store.folder(child))
    workspace = state_of(store.folder(child)).workspace
    return Made(child, store.folder(child), parent, wish.at_seq, workspace, changed, note)


def _whole(path: Path | None) -> Path | None:
    return None if path is None else path.expanduser().resolve()


async def _place(
    home: Path, at_seq: int, worktree: Path | None, folder: Path | None
) -> tuple[Path | None, str]:
    """Make the folder in which the fork works; None where it is its parent's. And what there is to say of it."""
    if worktree is None and folder is None:
        return None, ""
    files = files_then(home, at_seq)
    if worktree is not None:
        below = await add_worktree(files.workspace, worktree, files.store, files.commit)
        if files.commit:
            return below, files.note
        return below, "No checkpoint was taken then: the files are those of the repository's newest commit."
    assert folder is not None
    await add_folder(files, folder)
    return folder, files.note
