"""The subcommands of `sessions` that check and remove sessions.

Invariant: nothing is removed without a confirmation by the user or `--yes`.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import say, say_json, say_json_lines, say_result, table, warn
from tui_agent.cli.console.shared_options import (
    SESSION_HELP,
    Verbs,
    add_flag,
    add_option,
    amount,
    load_context,
)
from tui_agent.errors import CheckpointError, TuiAgentError, UsageError
from tui_agent.protocol.unicode_text import format_count
from tui_agent.session.fork_workspace import (
    checkpoint_notes,
    detach_checkpoints,
    verify_checkpoints,
)
from tui_agent.store.damage_report import verify_session
from tui_agent.store.log_reader import read_records
from tui_agent.store.session_store import SessionStore
from tui_agent.store.store_cleanup import Waste, find_waste, measure_session, remove_waste
from tui_agent.units import format_bytes
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits, read_limits

AskUser = Callable[[str], str]
DAY_S = 86_400.0
EXAMPLES = """\
examples:
  tui-agent sessions verify --all
  tui-agent sessions rm ses_01
  tui-agent sessions prune --older-than 90
"""
WASTE = {
    "empty": "sessions without messages",
    "old": "not used for the given number of days",
    "texts": "texts that no event refers to",
    "draft": "half-written files",
    "rest": "left by an interrupted removal",
}


def add_verbs(verbs: Verbs) -> None:
    """Add the subcommands `rm`, `verify` and `prune` to `verbs`."""
    remove = verbs.add("rm", remove_sessions, "delete a session permanently", examples=EXAMPLES)
    remove.add_argument("id", metavar="ID", nargs="+", help=SESSION_HELP)
    add_flag(remove, "--yes", "delete without asking")
    check = verbs.add(
        "verify", verify_sessions, "check that sessions are complete and undamaged", examples=EXAMPLES
    )
    scope = check.add_mutually_exclusive_group(required=True)
    scope.add_argument("id", metavar="ID", nargs="?", help=f"{SESSION_HELP}, or the path of a log")
    add_flag(scope, "--all", "every session")
    prune = verbs.add(
        "prune", prune_sessions, "list data that can be removed; --yes removes it", examples=EXAMPLES
    )
    add_option(
        prune, "--older-than DAYS", "also include sessions that were not used for DAYS days", type=amount
    )
    add_flag(prune, "--yes", "remove the listed data")


def remove_sessions(arguments: argparse.Namespace, ask: AskUser = input) -> None:
    """Delete sessions; without --yes, ask before each deletion."""
    store = load_context(arguments).store
    for name in dict.fromkeys(store.resolve(name) for name in arguments.id):
        folder = store.folder(name)
        total = sum(measure_session(folder).values())
        if not arguments.yes:
            _require_terminal()
            forks = store.forks(name)
            warning = " Its forks get a copy of the shared events." if forks else ""
            warning += (
                " The workspace in the session's folder is deleted too."
                if (folder / "workspace").is_dir()
                else ""
            )
            answer = ask(f"Delete {name} ({format_bytes(total)}) permanently?{warning} [y/N] ")
            if answer.strip().lower() not in ("y", "yes"):
                say(f"Kept {name}.")
                continue
        store.remove(name, detach_checkpoints)
        say_result(
            {"id": name, "removed": True, "bytes": total},
            f"Deleted {name} ({format_bytes(total)}).",
            as_json=arguments.json,
        )


def _require_terminal() -> None:
    if not sys.stdin.isatty():
        raise UsageError("Cannot ask: no terminal.", hint="To delete without asking, add --yes.")


def verify_sessions(arguments: argparse.Namespace) -> int:
    """Print the problems of each session; return 1 if there are any."""
    base = load_context(arguments)
    store = base.store
    folders = sorted(store.folders()) if arguments.all else [store.find(arguments.id)]
    worst = Exit.DONE
    for folder in folders:
        problems = verify_session(folder, _verify_checkpoints)
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
            say(f"{folder.name} is undamaged: {len(read_records(folder))} events.")
    if arguments.all and not arguments.json and worst is Exit.DONE:
        say(f"No problems in {format_count(len(folders), 'session')}.")
    return worst


def _verify_checkpoints(folder: Path) -> list[str]:
    try:
        return anyio.run(verify_checkpoints, folder)
    except CheckpointError as error:
        return [error.message]


def _notes(base: StartupContext, folder: Path) -> list[str]:
    try:
        return anyio.run(checkpoint_notes, folder, base.config.checkpoints)
    except CheckpointError:
        return []  # already reported as a problem


def prune_sessions(arguments: argparse.Namespace) -> int:
    """List session data that can be removed; with --yes, remove it."""
    base = load_context(arguments)
    days = arguments.older_than
    since = None if days is None else base.clock.now() - days * DAY_S
    entries = list(find_waste(base.store, unused_since=since))
    if arguments.json:
        say_json_lines(_as_json(entry, removed=arguments.yes) for entry in entries)
    status = _remove_waste(base.store, entries) if arguments.yes else Exit.DONE
    if not arguments.json:
        _print_waste(base.store, entries, read_limits(base.config.checkpoints), removed=arguments.yes)
    return status


def _as_json(entry: Waste, *, removed: bool) -> dict[str, object]:
    return {
        "session": entry.session,
        "kind": entry.kind,
        "files": len(entry.paths),
        "bytes": entry.size_bytes,
        "remove": removed,
    }


def _remove_waste(store: SessionStore, entries: Sequence[Waste]) -> Exit:
    status = Exit.DONE
    for entry in entries:
        try:
            remove_waste(store, entry, detach_checkpoints)
        except (TuiAgentError, OSError) as error:
            status = Exit.FAILED
            warn(f"{entry.session}: {error}")
    return status


def _print_waste(store: SessionStore, entries: Sequence[Waste], limits: Limits, *, removed: bool) -> None:
    rows = [
        [entry.session, format_bytes(entry.size_bytes), str(len(entry.paths)), WASTE[entry.kind]]
        for entry in entries
    ]
    if rows:
        table(rows, ["session", "size", "files", "reason"])
        say("")
    total = format_bytes(sum(entry.size_bytes for entry in entries))
    if removed:
        say(f"Removed {total}.")
    else:
        say(f"{total} can be removed." + (" To remove it, add --yes." if entries else ""))
    remaining = [measure_session(folder) for folder in store.folders()]
    totals = ", ".join(
        f"{kind} {format_bytes(sum(session_sizes[kind] for session_sizes in remaining))}"
        for kind in ("log", "texts", "checkpoints", "workspace")
    )
    quota = format_bytes(limits.total_bytes)
    count = format_count(len(remaining), "session")
    say(f"{count}: {totals}. The checkpoints of each session can grow by up to {quota}.")
