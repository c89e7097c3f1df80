"""List, show and manage recorded sessions."""

import argparse
from collections.abc import Sequence

from tui_agent.cli.console.output import (
    dim,
    escape_control,
    plain_json,
    say,
    say_json,
    say_json_lines,
    say_result,
    shorten,
    table,
    terminal_width,
    warn,
)
from tui_agent.cli.console.shared_options import (
    RECORDING_HELP,
    SESSION_HELP,
    Parser,
    Verbs,
    add_flag,
    add_option,
    load_context,
)
from tui_agent.cli.sessions import cleanup, export, fork, preview, revert, search, tree
from tui_agent.errors import UsageError
from tui_agent.folds.actions import Error, HistoryEntry, list_history
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.branch_tree import fork_name
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.state_view import state_to_json
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import SessionTitled
from tui_agent.protocol.stored_text import text_preview
from tui_agent.store.damage_report import describe_damage
from tui_agent.store.log_reader import read_records, read_stored_lines
from tui_agent.store.session_summary import SessionSummary
from tui_agent.units import format_bytes, format_time

EXAMPLES = """\
examples:
  tui-agent sessions list
  tui-agent sessions list --all --json
  tui-agent sessions show latest
  tui-agent sessions show latest --actions --from 20 --to 60
  tui-agent sessions show latest --state --to 60
  tui-agent sessions show ses_01 --json | jq 'select(.payload.kind == "file.changed")'
"""
RENAME_EXAMPLES = """\
examples:
  tui-agent sessions rename latest night shift
  tui-agent sessions rename ses_01 "the slow test" --json
"""
MAX_NAME_CHARS = 200
"""Maximum length of a session's name, in characters."""


def configure(parser: Parser) -> None:
    """Add the subcommands of `sessions`."""
    verbs = Verbs(parser, EXAMPLES)
    listing = verbs.add("list", list_sessions, "list this workspace's sessions, newest first")
    add_flag(listing, "--all", "sessions of every workspace")
    add_option(
        listing, "--id BEGINNING", "only sessions whose id starts with this text; `latest`: the last one used"
    )
    show = verbs.add("show", show_session, "show a session's events")
    show.add_argument("id", metavar="ID", help=RECORDING_HELP)
    add_flag(show, "--branch", "only events of the current branch")
    add_option(show, "--from SEQ", "start at event SEQ", type=int, default=0, dest="first")
    add_option(show, "--to SEQ", "end at event SEQ", type=int, default=None, dest="last")
    forms = show.add_mutually_exclusive_group()
    add_flag(forms, "--actions", "print actions and observations instead of events")
    add_flag(forms, "--state", "print the session's state at its last event (or at --to) as one JSON object")
    for module in (preview, tree, search, fork, revert):
        module.add_verbs(verbs)
    rename = verbs.add("rename", rename_session, "give a session a name", examples=RENAME_EXAMPLES)
    rename.add_argument("id", metavar="ID", help=SESSION_HELP)
    rename.add_argument("title", metavar="NAME", nargs="+", help="the name")
    for module in (cleanup, export):
        module.add_verbs(verbs)


def list_sessions(arguments: argparse.Namespace) -> None:
    """Print a line for each recorded session."""
    base = load_context(arguments)
    cwd = str(base.options.cwd)
    summaries = base.store.list(None if arguments.all else cwd)
    if arguments.id == "latest":
        summaries = summaries[:1]
    elif arguments.id:
        exact = [summary for summary in summaries if summary.id == arguments.id]
        summaries = exact or [summary for summary in summaries if summary.id.startswith(arguments.id)]
    if arguments.json:
        say_json_lines(as_json(summary) for summary in summaries)
        return
    if not summaries:
        say(
            "No sessions yet."
            if arguments.all
            else f"No sessions in {cwd} yet. To list the sessions of all folders, add --all."
        )
        return
    table([row(summary, everywhere=arguments.all) for summary in summaries], heads(everywhere=arguments.all))


def as_json(summary: SessionSummary) -> dict[str, object]:
    """Return a session as a JSON object, with times in seconds since the epoch."""
    ids = {"id": summary.id, "path": str(summary.path)}
    return ids | summary.to_json() | {"damaged": summary.is_damaged}


def heads(*, everywhere: bool) -> Sequence[str]:
    """Return the column names of the list of sessions. `everywhere`: with a column for the workspace."""
    return ["id", "used", "events", "size", *(["workspace"] if everywhere else []), "title"]


def row(summary: SessionSummary, *, everywhere: bool) -> list[str]:
    """Return the cells of one session in the list of sessions."""
    place = [summary.workspace] if everywhere else []
    notes = {
        "open": summary.is_locked,
        "damaged": summary.is_damaged,
        "another version": summary.is_other_version,
    }
    fork_note = f", {fork_name(summary.forked_at)}" if summary.forked_at is not None else ""
    name = (summary.title or "(untitled)") + fork_note
    title = " ".join([name, *(f"({note})" for note in notes if notes[note])])
    size = format_bytes(summary.size_bytes)
    return [summary.id, format_time(summary.updated), str(summary.events), size, *place, title]


def show_session(arguments: argparse.Namespace) -> None:
    """Print a session's events, its actions, or its state."""
    store = load_context(arguments).store
    folder = store.find(arguments.id)
    records: Sequence[Record] = read_records(folder)
    for flaw in describe_damage(folder, records):
        warn(flaw)
    first, last = arguments.first, arguments.last
    if last is not None:
        records = [record for record in records if record.seq <= last]
    if arguments.branch or arguments.state:
        records = current_branch(records)
    if arguments.state:
        say_json(state_to_json(fold(SessionState(), records)))
        return
    if arguments.actions:
        for entry in list_history(records, first):
            show_entry(entry, as_object=arguments.json)
        return
    if arguments.json:
        shown_seqs = {record.seq for record in records if record.seq >= first}
        for seq, stored in read_stored_lines(folder, first - 1):
            if seq in shown_seqs:
                print(plain_json(stored))
        return
    for record in records:
        if record.seq >= first:
            print(line(record))


def show_entry(entry: HistoryEntry, *, as_object: bool) -> None:
    """Print one action or observation of a session."""
    plain = entry.item.to_dict()
    if as_object:
        say_json({"seq": entry.seq, "agent": entry.agent, "answers": entry.action_seq, **plain})
        return
    kind = plain.get("action") or plain.get("observation")
    answers = "" if entry.action_seq is None else f"of {entry.action_seq}"
    error = f": {text_preview(entry.item.content)}" if isinstance(entry.item, Error) else ""
    words = escape_control(" ".join(f"{plain['message']}{error}".split()))
    room = max(20, terminal_width() - 32)
    say(f"{entry.seq:>6}  {answers:<9} {kind:<12} {shorten(words, room)}")


def line(record: Record) -> str:
    """Format one event as a line: number, time, agent, kind, and the start of its content."""
    kind = str(record.payload.kind if isinstance(record, Envelope) else record.kind)
    if isinstance(record, Envelope):
        content = record.payload.model_dump_json(exclude={"kind"}, exclude_defaults=True)
    else:
        content = "(unknown to this version)"
    room = max(20, terminal_width() - 60)
    text = escape_control(shorten(content, room))
    agent = "" if record.agent == "main" else f"{record.agent} "
    return f"{record.seq:>6}  {format_time(record.time)}  {escape_control(agent)}{kind:<24} {dim(text)}"


def rename_session(arguments: argparse.Namespace) -> None:
    """Give a session a new name. Raise `SessionLocked` if another process has the session open."""
    store = load_context(arguments).store
    name, title = store.resolve(arguments.id), " ".join(" ".join(arguments.title).split())[:MAX_NAME_CHARS]
    if not title:
        raise UsageError("The name cannot be empty.", hint=f"Example: tui-agent sessions rename {name} NAME")
    log = store.open(name, wait_s=0.5)
    try:
        log.append(SessionTitled(title=title, titled_by="user"))
    finally:
        log.close()
    say_result({"id": name, "title": title}, f"Renamed {name} to {title}.", as_json=arguments.json)
