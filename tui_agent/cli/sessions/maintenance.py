"""The verbs of `sessions` that check and remove sessions. Invariant: nothing goes without being asked for."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio

from tui_agent.cli.exit_codes import Exit
from tui_agent.cli.options import Parser, add_verb, amount, session_options
from tui_agent.cli.output import say, say_json, size, table, warn
from tui_agent.errors import CheckpointError, TuiAgentError, UsageError
from tui_agent.session.fork_workspace import (
    checkpoint_notes,
    detach_checkpoints,
    verify_checkpoints,
)
from tui_agent.store.prune import Waste, clear, sizes, waste
from tui_agent.store.reader import read_records
from tui_agent.store.sessions import SessionStore
from tui_agent.store.verify import verify
from tui_agent.wiring.base import Ground, ground
from tui_agent.workspace.checkpoints.limits import Limits

Ask = Callable[[str], str]
DAY = 86_400.0
EXAMPLES = """\
examples:
  tui-agent sessions verify --all
  tui-agent sessions rm ses_01
  tui-agent sessions prune --older-than 90
"""
WHICH = "a session's id, the beginning of one, or latest"
WASTE = {
    "empty": "nothing was said in it",
    "old": "not used for that long",
    "texts": "texts that no event names",
    "draft": "half-written files",
    "rest": "left by an interrupted removal",
}


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """The verbs `rm`, `verify` and `prune`."""
    remove = add_verb(verbs, "rm", remove_sessions, help="delete a session for good", examples=EXAMPLES)
    remove.add_argument("id", metavar="ID", nargs="+", help=WHICH)
    remove.add_argument("--yes", action="store_true", help="without asking")
    check = add_verb(
        verbs,
        "verify",
        verify_sessions,
        help="whether all that was stored is there and whole",
        examples=EXAMPLES,
    )
    which = check.add_mutually_exclusive_group(required=True)
    which.add_argument("id", metavar="ID", nargs="?", help=f"{WHICH}, or the path of a log")
    which.add_argument("--all", action="store_true", help="every session")
    prune = add_verb(
        verbs,
        "prune",
        prune_sessions,
        help="what the store could do without; --yes removes it",
        examples=EXAMPLES,
    )
    prune.add_argument("--older-than", metavar="DAYS", type=amount, help="also sessions not used for so long")
    prune.add_argument("--yes", action="store_true", help="remove it")


def _base(arguments: argparse.Namespace) -> Ground:
    return ground(session_options(arguments, client="headless", interactive=False))


def remove_sessions(arguments: argparse.Namespace, ask: Ask = input) -> int:
    """Delete sessions, each after a question."""
    store = _base(arguments).store
    for name in dict.fromkeys(store.resolve(name) for name in arguments.id):
        folder = store.folder(name)
        total = sum(sizes(folder).values())
        if not arguments.yes:
            _require_terminal()
            forks = store.forks(name)
            also = f" Its {len(forks)} forks get a copy of what they take from it." if forks else ""
            also += (
                " The files that it worked on in its folder go too."
                if (folder / "workspace").is_dir()
                else ""
            )
            answer = ask(f"Delete {name} ({size(total)}) for good?{also} [y/N] ")
            if answer.strip().lower() not in ("y", "yes"):
                say(f"{name} stays.")
                continue
        store.remove(name, detach_checkpoints)
        if arguments.json:
            say_json({"id": name, "removed": True, "bytes": total})
        else:
            say(f"{name} is gone ({size(total)}).")
    return Exit.DONE


def _require_terminal() -> None:
    if not sys.stdin.isatty():
        raise UsageError("Nobody can be asked here.", hint="--yes deletes without asking.")


def verify_sessions(arguments: argparse.Namespace) -> int:
    """Say what is wrong; 1 if anything is."""
    base = _base(arguments)
    store = base.store
    folders = sorted(store.folders()) if arguments.all else [store.find(arguments.id)]
    worst = Exit.DONE
    for folder in folders:
        problems = verify(folder, _look_at_checkpoints)
        worst = Exit.FAILED if problems else worst
        if arguments.json:
            notes = _notes(base, folder)
            say_json({"id": folder.name, "path": str(folder), "problems": problems, "notes": notes})
            continue
        for problem in problems:
            say(f"{folder.name}  {problem}")
        for note in _notes(base, folder):
            say(f"{folder.name}  Note: {note}")
        if not problems and not arguments.all:
            say(f"{folder.name} is whole: {len(read_records(folder))} events.")
    if arguments.all and not arguments.json and worst is Exit.DONE:
        say(f"{len(folders)} sessions are whole.")
    return worst


def _look_at_checkpoints(folder: Path) -> list[str]:
    try:
        return anyio.run(verify_checkpoints, folder)
    except CheckpointError as error:
        return [error.message]


def _notes(base: Ground, folder: Path) -> list[str]:
    try:
        return anyio.run(checkpoint_notes, folder, base.config.checkpoints)
    except CheckpointError:
        return []  # the look before has told what is wrong


def prune_sessions(arguments: argparse.Namespace) -> int:
    """Show what could go, or remove it."""
    base = _base(arguments)
    days = arguments.older_than
    since = None if days is None else base.clock.now() - days * DAY
    found = list(waste(base.store, unused_since=since))
    for each in found:
        if arguments.json:
            say_json(_as_json(each, removed=arguments.yes))
    status = _clear(base.store, found) if arguments.yes else Exit.DONE
    if not arguments.json:
        _report(base.store, found, removed=arguments.yes)
    return status


def _as_json(each: Waste, *, removed: bool) -> dict[str, object]:
    return {
        "session": each.session,
        "kind": each.kind,
        "files": len(each.paths),
        "bytes": each.size_bytes,
        "remove": removed,
    }


def _clear(store: SessionStore, found: Sequence[Waste]) -> Exit:
    status = Exit.DONE
    for each in found:
        try:
            clear(store, each, detach_checkpoints)
        except (TuiAgentError, OSError) as error:
            status = Exit.FAILED
            warn(f"{each.session}: {error}")
    return status


def _report(store: SessionStore, found: Sequence[Waste], *, removed: bool) -> None:
    rows = [[each.session, size(each.size_bytes), str(len(each.paths)), WASTE[each.kind]] for each in found]
    if rows:
        table(rows, ["session", "size", "files", "why"])
        say("")
    total = size(sum(each.size_bytes for each in found))
    if removed:
        say(f"{total} were removed.")
    else:
        say(f"{total} could go." + (" --yes removes it." if found else ""))
    left = [sizes(folder) for folder in store.folders()]
    words = ", ".join(
        f"{what} {size(sum(each[what] for each in left))}"
        for what in ("log", "texts", "checkpoints", "workspace")
    )
    quota = size(Limits().total_bytes)
    say(f"{len(left)} sessions: {words}. The checkpoints of each may grow by {quota} after the first.")
