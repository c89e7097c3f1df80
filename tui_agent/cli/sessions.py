"""L7: The recorded sessions: list them, or show one's events as they stand in its log."""

import argparse
from collections.abc import Sequence

from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import faint, moment, printable, record_json, say, say_json, size, table, width
from tui_agent.folds.base import branch
from tui_agent.ground import ground
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.store.sessions import SessionSummary

EXAMPLES = """\
examples:
  tui-agent sessions list
  tui-agent sessions list --all --json
  tui-agent sessions show latest
  tui-agent sessions show ses_01 --json | jq 'select(.payload.kind == "file.changed")'
"""


def configure(parser: Parser) -> None:
    """The verbs below `sessions`."""
    verbs = parser.add_subparsers(required=True, metavar="list | show")
    listing = add_verb(
        verbs, "list", list_sessions, help="this workspace's sessions, newest first", examples=EXAMPLES
    )
    listing.add_argument("--all", action="store_true", help="those of every workspace")
    show = add_verb(verbs, "show", show_session, help="a session's events", examples=EXAMPLES)
    show.add_argument("id", metavar="ID", help="a session's id, the beginning of one, or latest")
    show.add_argument("--branch", action="store_true", help="only what is on the current branch")


def list_sessions(arguments: argparse.Namespace) -> int:
    """Print a line for each session."""
    options = session_options(arguments, client="headless", interactive=False)
    store = ground(options).store
    found = store.list(None if arguments.all else str(options.cwd))
    if arguments.json:
        for summary in found:
            say_json(as_json(summary))
        return 0
    if not found:
        say("No sessions yet." if arguments.all else f"No sessions of {options.cwd} yet. Others: --all")
        return 0
    table([row(summary, everywhere=arguments.all) for summary in found], heads(everywhere=arguments.all))
    return 0


def as_json(summary: SessionSummary) -> dict[str, object]:
    """A session as one JSON object. Times are seconds since the epoch."""
    return {
        "id": summary.id,
        "path": str(summary.path),
        "workspace": summary.workspace,
        "started": summary.started,
        "updated": summary.updated,
        "title": summary.title,
        "events": summary.events,
        "size_bytes": summary.size_bytes,
        "open": summary.locked,
    }


def heads(*, everywhere: bool) -> Sequence[str]:
    """The columns' names."""
    return ["id", "used", "events", "size", *(["workspace"] if everywhere else []), "title"]


def row(summary: SessionSummary, *, everywhere: bool) -> list[str]:
    """The columns of one session."""
    place = [summary.workspace] if everywhere else []
    title = (summary.title or "(untitled)") + (" (open)" if summary.locked else "")
    return [summary.id, moment(summary.updated), str(summary.events), size(summary.size_bytes), *place, title]


def show_session(arguments: argparse.Namespace) -> int:
    """Print a session's events."""
    store = ground(session_options(arguments, client="headless", interactive=False)).store
    records: Sequence[Record] = store.read(store.resolve(arguments.id))
    if arguments.branch:
        records = branch(records)
    for record in records:
        print(record_json(record) if arguments.json else line(record))
    return 0


def line(record: Record) -> str:
    """One event for a person: number, time, who, what, and the beginning of its content."""
    kind = str(record.payload.kind if isinstance(record, Envelope) else record.kind)
    if isinstance(record, Envelope):
        content = record.payload.model_dump_json(exclude={"kind"}, exclude_defaults=True)
    else:
        content = "(not known to this version)"
    room = max(20, width() - 60)
    text = printable(content if len(content) <= room else content[: room - 1] + "…")
    who = "" if record.agent == "main" else f"{record.agent} "
    return f"{record.seq:>6}  {moment(record.at)}  {printable(who)}{kind:<24} {faint(text)}"
