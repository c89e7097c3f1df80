"""The verbs of `sessions` that find what was said and done. Invariant: the logs are only read; the index is derived."""

import argparse
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tui_agent.cli.exit_codes import Exit
from tui_agent.cli.options import Parser, add_verb, count, session_options
from tui_agent.cli.output import faint, moment, printable, say, say_json, say_json_lines, size, warn, width
from tui_agent.errors import StoreError
from tui_agent.store.index_search import Found
from tui_agent.wiring.base import Ground, ground

EXAMPLES = """\
examples:
  tui-agent sessions search "login test"
  tui-agent sessions search KeyError --all --json
  tui-agent sessions reindex
"""
KINDS = {
    "user.message": "you",
    "model.responded": "answer",
    "tool.called": "call",
    "tool.finished": "result",
    "session.titled": "title",
}
MOST = 50
BEHIND = "Another process holds the index of the sessions. What was said most recently may be missing; search again later."


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """The verbs `search` and `reindex`."""
    search = add_verb(
        verbs,
        "search",
        search_sessions,
        help="where words were said: messages, answers, what tools were called on and gave",
        examples=EXAMPLES,
    )
    search.add_argument("text", metavar="TEXT", nargs="+", help="words, or how they begin; all must be there")
    where = search.add_mutually_exclusive_group()
    where.add_argument(
        "--workspace", action="store_true", help="only this workspace's sessions (the default)"
    )
    where.add_argument("--all", action="store_true", help="those of every workspace")
    search.add_argument(
        "--sessions",
        action="store_true",
        help="each session once, with the newest place and how many there are",
    )
    search.add_argument("--limit", metavar="N", type=count, default=MOST, help=f"at most N places ({MOST})")
    add_verb(verbs, "reindex", reindex, help="make the index of all sessions anew", examples=EXAMPLES)


def _base(arguments: argparse.Namespace) -> Ground:
    return ground(session_options(arguments, client="headless", interactive=False))


def search_sessions(arguments: argparse.Namespace) -> int:
    """Print a line for each place."""
    base = _base(arguments)
    workspace = None if arguments.all else str(base.options.cwd)
    text, index, stands = " ".join(arguments.text), base.store.index, base.store.stands()
    held: list[str] = []
    behind = partial(held.append, BEHIND)
    if arguments.sessions:
        found: Sequence[Found] = index.sessions_with(stands, text, workspace, behind=behind)
    else:
        found = index.search(stands, text, workspace, arguments.limit, behind=behind)
    for words in held:
        warn(words)
    if arguments.json:
        say_json_lines(as_json(each) | {"behind": bool(held)} for each in found)
        return Exit.DONE if found else Exit.FAILED
    for each in found:
        say(line(each, everywhere=arguments.all))
    if not found:
        say("Nothing was found." + ("" if arguments.all else " In other workspaces: --all"))
    return Exit.DONE if found else Exit.FAILED


def as_json(found: Found) -> dict[str, object]:
    """A place as one JSON object. `at` is seconds since the epoch."""
    return {
        "session": found.session,
        "seq": found.seq,
        "at": found.at,
        "kind": found.kind,
        "title": found.title,
        "workspace": found.workspace,
        "snippet": found.snippet,
        "places": found.places,
    }


def line(found: Found, *, everywhere: bool) -> str:
    """A place for a person: session, event, time, who, and the words around it."""
    place = f"  {Path(found.workspace).name}" if everywhere else ""
    head = f"{found.session} {found.seq:>6}  {moment(found.at)}{place}  {KINDS.get(found.kind, found.kind)}"
    room = max(30, width() - len(head) - 2)
    words = printable(" ".join(found.snippet.split()))
    return f"{faint(head)}  {words if len(words) <= room else words[: room - 1] + '…'}"


def reindex(arguments: argparse.Namespace) -> int:
    """Make the index anew and say how large it is."""
    store = _base(arguments).store
    stands = store.stands()
    if not stands:
        say("No sessions yet.")
        return Exit.DONE
    try:
        store.index.rebuild(stands)
    except (sqlite3.Error, OSError) as fault:
        raise StoreError(
            f"The index {store.index.path} could not be made: {fault}.",
            hint="Sessions are listed and found without it, only slower.",
        ) from fault
    taken = store.index.path.stat().st_size
    if arguments.json:
        say_json({"path": str(store.index.path), "sessions": len(stands), "bytes": taken})
    else:
        say(f"{len(stands)} sessions are in {store.index.path} ({size(taken)}).")
    return Exit.DONE
