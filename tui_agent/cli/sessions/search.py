"""The subcommands `sessions search` and `sessions reindex`.

Invariant: the logs are only read.
"""

import argparse
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import (
    dim,
    escape_control,
    say,
    say_json_lines,
    say_result,
    shorten,
    terminal_width,
    warn,
)
from tui_agent.cli.console.shared_options import Verbs, add_flag, add_option, count, load_context
from tui_agent.errors import StoreError
from tui_agent.protocol.unicode_text import format_count
from tui_agent.store.session_search import SearchHit
from tui_agent.units import format_bytes, format_time

EXAMPLES = """\
examples:
  tui-agent sessions search "login test"
  tui-agent sessions search KeyError --all --json
  tui-agent sessions reindex
"""
KINDS = {
    "user.message": "you",
    "user.steered": "you",
    "user.shell_finished": "you ran",
    "model.responded": "answer",
    "tool.called": "call",
    "tool.finished": "result",
    "session.titled": "title",
}
MAX_MATCHES = 50
STALE_INDEX_NOTE = (
    "Another process is using the session index. The newest messages may be missing; search again later."
)


def add_verbs(verbs: Verbs) -> None:
    """Add the subcommands `search` and `reindex` to `verbs`."""
    search = verbs.add(
        "search",
        search_sessions,
        "search messages, your commands, answers, tool calls and results",
        examples=EXAMPLES,
    )
    search.add_argument(
        "text",
        metavar="TEXT",
        nargs="+",
        help="words, or beginnings of words; a match contains all of them",
    )
    scope = search.add_mutually_exclusive_group()
    add_flag(scope, "--workspace", "only this workspace's sessions (the default)")
    add_flag(scope, "--all", "sessions of every workspace")
    add_flag(
        search, "--sessions", "print one line per session, with its newest match and the number of matches"
    )
    add_option(
        search,
        "--limit N",
        f"print at most N matches (default: {MAX_MATCHES})",
        type=count,
        default=MAX_MATCHES,
    )
    verbs.add("reindex", reindex, "rebuild the search index of all sessions", examples=EXAMPLES)


def search_sessions(arguments: argparse.Namespace) -> int:
    """Print a line for each match of a search; return 1 if nothing matches."""
    base = load_context(arguments)
    workspace = None if arguments.all else str(base.options.cwd)
    text, index, session_files = " ".join(arguments.text), base.store.index, base.store.log_states()
    warnings: list[str] = []
    behind = partial(warnings.append, STALE_INDEX_NOTE)
    if arguments.sessions:
        matches: Sequence[SearchHit] = index.search_sessions(session_files, text, workspace, on_stale=behind)
    else:
        matches = index.search(session_files, text, workspace, arguments.limit, on_stale=behind)
    for warning in warnings:
        warn(warning)
    if arguments.json:
        say_json_lines(as_json(match) | {"behind": bool(warnings)} for match in matches)
        return Exit.DONE if matches else Exit.FAILED
    for match in matches:
        say(line(match, everywhere=arguments.all))
    if not matches:
        say("No matches." + ("" if arguments.all else " To search all workspaces, add --all."))
    return Exit.DONE if matches else Exit.FAILED


def as_json(hit: SearchHit) -> dict[str, object]:
    """Return a match of a search as a JSON object, with the time in seconds since the epoch."""
    return {
        "session": hit.session,
        "seq": hit.seq,
        "time": hit.time,
        "kind": hit.kind,
        "title": hit.title,
        "workspace": hit.workspace,
        "snippet": hit.snippet,
        "places": hit.hit_count,
    }


def line(hit: SearchHit, *, everywhere: bool) -> str:
    """Format a match of a search as one line: session, event, time, kind, and the text around the match."""
    place = f"  {Path(hit.workspace).name}" if everywhere else ""
    head = f"{hit.session} {hit.seq:>6}  {format_time(hit.time)}{place}  {KINDS.get(hit.kind, hit.kind)}"
    room = max(30, terminal_width() - len(head) - 2)
    return f"{dim(head)}  {shorten(escape_control(' '.join(hit.snippet.split())), room)}"


def reindex(arguments: argparse.Namespace) -> None:
    """Rebuild the search index of all sessions and print its size."""
    store = load_context(arguments).store
    session_files = store.log_states()
    if not session_files:
        say("No sessions yet.")
        return
    try:
        store.index.rebuild(session_files)
    except (sqlite3.Error, OSError) as fault:
        raise StoreError(
            f"The index {store.index.path} could not be built: {fault}.",
            hint="Without an index, sessions are listed and searched more slowly.",
        ) from fault
    size_bytes = store.index.path.stat().st_size
    say_result(
        {"path": str(store.index.path), "sessions": len(session_files), "bytes": size_bytes},
        f"Indexed {format_count(len(session_files), 'session')} in {store.index.path} ({format_bytes(size_bytes)}).",
        as_json=arguments.json,
    )
