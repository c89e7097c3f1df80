"""The subcommand `sessions preview`: shows a session's topic and state.

Invariant: a long log is not read completely.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tui_agent.cli.console.output import say, say_json
from tui_agent.cli.console.shared_options import SESSION_HELP, Verbs, load_context
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.comparison.net_changes import LineCounter
from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.branch_tree import MAIN_BRANCH, branch_tree, fork_name
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.session.todo_list import Todo
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.stored_text import text_preview
from tui_agent.store.damage_report import describe_damage
from tui_agent.store.lineage import open_blobs, read_origin
from tui_agent.store.log_reader import read_records, read_tail_bytes, require_readable
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.log_scan import read_records_from
from tui_agent.store.session_store import SessionStore
from tui_agent.store.session_summary import SessionSummary
from tui_agent.units import describe_line_changes, format_percent, format_time, format_tokens
from tui_agent.wiring.startup_context import StartupContext

EXAMPLES = """\
examples:
  tui-agent sessions preview latest
  tui-agent sessions preview ses_01 --json | jq .files
"""
MAX_TEXT_CHARS = 2_000
"""Maximum length of a message or answer in the preview, in characters."""
MAX_FORKS = 8
MAX_BYTES = 1024 * 1024
"""Default maximum number of bytes that a preview reads from a log."""
_HEAD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class LogPart:
    """The records of a log that are read for a preview.

    `first_message`: the first message of a long log, which is read separately; otherwise None.
    """

    records: Sequence[Record]
    is_complete: bool
    first_message: Envelope | None = None


def add_verbs(verbs: Verbs) -> None:
    """Add the subcommand `preview` to `verbs`."""
    preview = verbs.add("preview", preview_session, "show a session's topic and state", examples=EXAMPLES)
    preview.add_argument("id", metavar="ID", help=SESSION_HELP)


def preview_session(arguments: argparse.Namespace) -> None:
    """Print the preview of a session."""
    base: StartupContext = load_context(arguments)
    data = preview(base.store, base.store.resolve(arguments.id))
    if arguments.json:
        say_json(data)
    else:
        _print_preview(data)


def preview(store: SessionStore, name: str) -> dict[str, object]:
    """Return the preview of a session as a JSON object, with times in seconds since the epoch.

    `whole` is False if only the end of the log was read. Raise `SessionNotFound` if the session does not exist.
    """
    require_readable(store.folder(name))
    summary = store.index.summary(store.folder(name))
    log_part = read_log_part(summary.path, summary.size_bytes)
    records = current_branch(log_part.records)
    state = fold(SessionState(), records)
    branches = [*_branches(log_part, summary), *_forks(store, summary)]
    return {
        "session": summary.id,
        **summary.to_json(),
        "whole": log_part.is_complete,
        "first_seq": log_part.records[0].seq if log_part.records else None,
        "flaws": describe_damage(summary.path, log_part.records) if log_part.is_complete else None,
        **_conversation(records, log_part),
        **_work(records, open_blobs(summary.path).find),
        "waiting": _pending_input(state, summary.path),
        "branches": branches if len(branches) > 1 else [],
    }


def _conversation(records: list[Record], log_part: LogPart) -> dict[str, object]:
    messages = [entry for record in records if (entry := _message_entry(record)) is not None]
    first = messages[0] if log_part.is_complete and messages else None
    if log_part.first_message is not None:
        first = _message_entry(log_part.first_message)
    last = messages[-1] if messages and (first is None or messages[-1]["seq"] != first["seq"]) else None
    metrics = fold(Metrics(), records)
    return {
        "first": first,
        "last": last,
        "answer": metrics.final_answer[:MAX_TEXT_CHARS] or None,
        "tests": _newest_tests(records),
    }


def _message_entry(record: Record) -> dict[str, object] | None:
    payload = record.payload
    if record.agent != MAIN_AGENT or not isinstance(payload, UserMessageReceived | UserSteered):
        return None
    text = text_preview(payload.own_words or payload.text)
    return {"seq": record.seq, "time": record.time, "text": text[:MAX_TEXT_CHARS]}


def _newest_tests(records: Sequence[Record]) -> dict[str, int] | None:
    for record in reversed(records):
        payload = record.payload
        if isinstance(payload, TestFinished) and (payload.passed >= 0 or payload.failed >= 0):
            return {"passed": max(0, payload.passed), "failed": max(0, payload.failed)}
    return None


def _work(records: list[Record], text: Callable[[str], bytes | None]) -> dict[str, object]:
    lines = LineCounter(text)
    files, todo, meter = (fold(FilesChanged(), records), fold(Todo(), records), fold(ContextMeter(), records))
    return {
        "files": [
            {"path": file.path, "added": added, "removed": removed}
            for file in files.files
            for added, removed in (lines.count(file),)
        ],
        "todo": {"done": todo.done, "total": todo.total} if todo.items else None,
        "context": {"used": meter.used, "window": meter.window, "fraction": round(meter.fraction, 4)}
        if meter.used
        else None,
    }


def _pending_input(state: SessionStateView, folder: Path) -> dict[str, object]:
    try:
        draft = (folder / "draft").stat().st_size > 0
    except OSError:
        draft = False
    return {
        "approval": [
            f"{request.verb or request.tool} {request.target}".strip() for request in state.permissions
        ],
        "question": list(state.open_questions),
        "queued": [text_preview(message.text)[:200] for message in state.queue],
        "draft": draft,
    }


def _branches(log_part: LogPart, summary: SessionSummary) -> list[dict[str, object]]:
    """Return the session's first branch and its newest other branches, as `sessions tree` prints them."""
    if not any(isinstance(record.payload, SessionHeadMoved) for record in log_part.records):
        return [
            _branch_data(summary, MAIN_BRANCH, summary.started, summary.state, summary.state, current=True)
        ]
    after = -1 if summary.forked_at is None else summary.forked_at
    first, *others = branch_tree(log_part.records, after).shown_branches()
    return [
        _branch_data(
            summary,
            branch.name,
            summary.started if branch is first else branch.started,
            branch.outcome.label,
            branch.outcome.state,
            current=branch.current,
        )
        for branch in (first, *others[-MAX_FORKS:])
    ]


def _branch_data(
    summary: SessionSummary, name: str, started: float, outcome: str, state: str, *, current: bool
) -> dict[str, object]:
    is_fork = name == MAIN_BRANCH and summary.forked_at is not None
    return {
        "kind": "branch",
        "name": fork_name(summary.forked_at) if is_fork else name,
        "started": started,
        "outcome": outcome,
        "state": state,
        "current": current,
    }


def _forks(store: SessionStore, summary: SessionSummary) -> list[dict[str, object]]:
    forks: list[dict[str, object]] = []
    names = store.index.find_forks(summary.id)
    for name in (store.forks(summary.id) if names is None else names)[:MAX_FORKS]:
        if not (store.folder(name) / "events.jsonl").is_file():
            continue
        fork = store.index.summary(store.folder(name))
        end = read_log_part(fork.path, fork.size_bytes, max_bytes=64 * 1024, own_only=True)
        forks.append(
            {
                "kind": "fork",
                "name": fork_name(fork.forked_at),
                "session": fork.id,
                "title": fork.title,
                "at_seq": fork.forked_at,
                "started": fork.started,
                "outcome": fork.state,
                "state": fork.state,
                "current": False,
                "tests": _newest_tests(end.records),
            }
        )
    return forks


def _print_preview(shown: dict[str, Any]) -> None:
    say(f"{shown['title'] or '(untitled)'}  {shown['session']}")
    say(f"{shown['workspace']}, {shown['model'] or 'no model'}")
    say(f"{format_time(shown['updated'])}, {shown['events']} events, {shown['outcome']}")
    if not shown["whole"]:
        say("The log is long; only its end is shown.")
    for name in ("first", "last"):
        if shown[name]:
            say(f"\nYou ({name})\n{shown[name]['text']}")
    if shown["answer"]:
        say(f"\nLast answer\n{shown['answer']}")
    todo, meter, waiting = shown["todo"], shown["context"], shown["waiting"]
    inputs = [f"{name}: {entry}" for name in ("approval", "question", "queued") for entry in waiting[name]]
    sections = {
        "Files": [
            f"{describe_line_changes(file['added'], file['removed'], '-')}  {file['path']}"
            for file in shown["files"]
        ],
        "Todo": [f"{todo['done']} of {todo['total']} done"] if todo else [],
        "Context": [
            f"{format_tokens(meter['used'])} of {format_tokens(meter['window'])} tokens, {format_percent(meter['fraction'])}"
        ]
        if meter
        else [],
        "Waiting": [*inputs, "an unsent draft"] if waiting["draft"] else inputs,
        "Branches": [_branch_row(branch) for branch in shown["branches"]],
    }
    for title, rows in sections.items():
        if rows:
            say("\n".join(["", title, *(f"  {row}" for row in rows)]))


def _branch_row(branch: dict[str, Any]) -> str:
    row = f"{branch['name']}, {branch['outcome']}, {format_time(branch['started'])}"
    return f"{row}  {branch['session']}  {branch['title']}" if branch["kind"] == "fork" else row


def read_log_part(folder: Path, size: int, *, max_bytes: int = MAX_BYTES, own_only: bool = False) -> LogPart:
    """Read a session's log: all of a short log, or the first message and the end of a long log.

    `size`: size of the log in bytes.
    `max_bytes`: number of bytes to read, roughly.
    `own_only`: leave out the events of the parent sessions.

    Raise `OSError` if the log cannot be read.
    """
    blobs = open_blobs(folder)
    if size <= max_bytes and not own_only and _parents_size(folder, max_bytes) + size <= max_bytes:
        return LogPart(read_records(folder, skip_deltas=True), is_complete=True)
    tail = list(read_records_from(read_tail_bytes(folder / EVENTS_FILE, max_bytes), blobs, skip_deltas=True))
    return LogPart(
        tail,
        is_complete=own_only and size <= max_bytes,
        first_message=_first_message(folder) if size > max_bytes else None,
    )


def _parents_size(folder: Path, max_bytes: int) -> int:
    """Return the total size of the parent sessions' logs in bytes; stop counting when the total exceeds `max_bytes`."""
    total, visited = 0, {folder}
    while total <= max_bytes and (origin := read_origin(folder)) is not None and origin.folder not in visited:
        folder = origin.folder
        visited.add(folder)
        try:
            total += (folder / EVENTS_FILE).stat().st_size
        except OSError:
            break
    return total


def _first_message(folder: Path) -> Envelope | None:
    with (folder / EVENTS_FILE).open("rb") as log:
        head = log.read(_HEAD_BYTES)
    for record in read_records_from(head, open_blobs(folder)):
        if isinstance(record.payload, UserMessageReceived):
            return record
    return None
