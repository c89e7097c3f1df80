"""What is worth knowing of one session before it is opened. Invariant: reads a bounded part of its log, from the end."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import moment, say, say_json
from tui_agent.folds.base import branch, fold
from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.todo import Todo
from tui_agent.folds.session.view import SessionStateView
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.store.damage_report import flaws
from tui_agent.store.preview import Glimpse, glimpse
from tui_agent.store.sessions import SessionStore
from tui_agent.store.summary import SessionSummary
from tui_agent.wiring.base import Ground, ground

EXAMPLES = """\
examples:
  tui-agent sessions preview latest
  tui-agent sessions preview ses_01 --json | jq .files
"""
WORDS = 2_000
"""Characters of a message or an answer."""
MOST_FORKS = 8


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """The verb `preview`."""
    preview = add_verb(
        verbs,
        "preview",
        preview_session,
        help="what a session was about, and how it stands",
        examples=EXAMPLES,
    )
    preview.add_argument("id", metavar="ID", help="a session's id, the beginning of one, or latest")


def preview_session(arguments: argparse.Namespace) -> int:
    """Print it."""
    base: Ground = ground(session_options(arguments, client="headless", interactive=False))
    shown = preview(base.store, base.store.resolve(arguments.id))
    if arguments.json:
        say_json(shown)
    else:
        _say(shown)
    return 0


def preview(store: SessionStore, name: str) -> dict[str, object]:
    """A session as one JSON object. Times are seconds since the epoch; what is not known is null.

    `whole` says whether all of the log was read; where not, what is told stands in its end. Raises `SessionNotFound`.
    """
    summary = store.index.summary(store.folder(name))
    seen = glimpse(summary.path, summary.size_bytes)
    records = branch(seen.records)
    state = fold(SessionState(), records)
    return {
        "session": summary.id,
        "title": summary.title,
        "workspace": summary.workspace,
        "model": summary.model,
        "started": summary.started,
        "updated": summary.updated,
        "events": summary.events,
        "size_bytes": summary.size_bytes,
        "turns": summary.figures.turns if summary.figures else None,
        "cost_usd": summary.figures.cost_usd if summary.figures else None,
        "outcome": summary.state,
        "open": summary.locked,
        "newer": summary.newer,
        "parent": summary.parent or None,
        "forked_at": summary.forked_at,
        "whole": seen.whole,
        "first_seq": seen.records[0].seq if seen.records else None,
        "flaws": flaws(summary.path, seen.records) if seen.whole else None,
        **_said(records, seen),
        **_work(records),
        "waiting": _waiting(state, summary.path),
        "branches": [*_left(seen, records), *_forks(store, summary)],
    }


def _said(records: list[Record], seen: Glimpse) -> dict[str, object]:
    """The first and the last message, and the last answer."""
    said = [
        (record.seq, record.at, text_preview(record.payload.text))
        for record in records
        if isinstance(record, Envelope)
        and record.agent == MAIN_AGENT
        and isinstance(record.payload, UserMessageReceived)
    ]
    first = said[0] if seen.whole and said else None
    if seen.first is not None:
        first = (seen.first.seq, seen.first.at, text_preview(seen.first_message))
    last = said[-1] if said and (first is None or said[-1][0] != first[0]) else None
    metrics = fold(Metrics(), records)
    return {
        "first": _message(first),
        "last": _message(last),
        "answer": metrics.final_answer[:WORDS] or None,
        "tests": _tests(records),
    }


def _message(one: tuple[int, float, str] | None) -> dict[str, object] | None:
    return None if one is None else {"seq": one[0], "at": one[1], "text": one[2][:WORDS]}


def _tests(records: list[Record]) -> dict[str, int] | None:
    """The newest test run of which the counts are known."""
    for record in reversed(records):
        payload = record.payload if isinstance(record, Envelope) else None
        if isinstance(payload, TestFinished) and (payload.passed >= 0 or payload.failed >= 0):
            return {"passed": max(0, payload.passed), "failed": max(0, payload.failed)}
    return None


def _work(records: list[Record]) -> dict[str, object]:
    files, todo, meter = (fold(FilesChanged(), records), fold(Todo(), records), fold(ContextMeter(), records))
    return {
        "files": [{"path": one.path, "added": one.added, "removed": one.removed} for one in files.files],
        "todo": {"done": todo.done, "total": len(todo.items)} if todo.items else None,
        "context": {"used": meter.used, "window": meter.window, "fraction": round(meter.fraction, 4)}
        if meter.used
        else None,
    }


def _waiting(state: SessionStateView, folder: Path) -> dict[str, object]:
    """What waits for the user: what is asked, what is queued, what was typed and not sent."""
    try:
        draft = (folder / "draft").stat().st_size > 0
    except OSError:
        draft = False
    return {
        "approval": [f"{one.verb or one.tool} {one.target}".strip() for one in state.permissions],
        "question": list(state.open_questions),
        "queued": [text_preview(one.text)[:200] for one in state.queue],
        "draft": draft,
    }


def _left(seen: Glimpse, here: Sequence[Record]) -> list[dict[str, object]]:
    """The branches that were left in the session itself, and not gone back to."""
    on_branch = {record.seq for record in here}
    moves = [
        record
        for record in seen.records
        if isinstance(record, Envelope)
        and isinstance(record.payload, SessionHeadMoved)
        and record.payload.from_seq not in on_branch
    ]
    return [
        {"kind": "branch", "at_seq": one.payload.to_seq, "started": one.at, "outcome": "left"}
        for one in moves[-MOST_FORKS:]
        if isinstance(one.payload, SessionHeadMoved)
    ]


def _forks(store: SessionStore, summary: SessionSummary) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    names = store.index.forks(summary.id)
    for name in (store.forks(summary.id) if names is None else names)[:MOST_FORKS]:
        if not (store.folder(name) / "events.jsonl").is_file():
            continue
        fork = store.index.summary(store.folder(name))
        found.append(
            {
                "kind": "fork",
                "session": fork.id,
                "title": fork.title,
                "at_seq": fork.forked_at,
                "started": fork.started,
                "outcome": fork.state,
                "tests": _tests(list(glimpse(fork.path, fork.size_bytes, most=64 * 1024, own=True).records)),
            }
        )
    return found


def _say(shown: dict[str, object]) -> None:
    """The same for a person."""
    say(f"{shown['title'] or '(untitled)'}  {shown['session']}")
    say(f"{shown['workspace']}, {shown['model'] or 'no model'}")
    say(f"{moment(float(str(shown['updated'])))}, {shown['events']} events, {shown['outcome']}")
    if not shown["whole"]:
        say("The log is long: what follows is from its end only.")
    for name in ("first", "last"):
        message = shown[name]
        if isinstance(message, dict):
            say(f"\nYou ({name})\n{message['text']}")
    if shown["answer"]:
        say(f"\nLast answer\n{shown['answer']}")
    files = shown["files"]
    if isinstance(files, list) and files:
        say("\nFiles")
        for one in files:
            say(f"  +{one['added']} -{one['removed']}  {one['path']}")
    for title, rows in (
        ("Todo", _todo_rows(shown["todo"])),
        ("Context", _context_rows(shown["context"])),
        ("Waiting", _waiting_rows(shown["waiting"])),
        ("Branches", _branch_rows(shown["branches"])),
    ):
        if rows:
            say("\n".join(["", title, *(f"  {row}" for row in rows)]))


def _todo_rows(todo: object) -> list[str]:
    return [f"{todo['done']} of {todo['total']} done"] if isinstance(todo, dict) else []


def _context_rows(meter: object) -> list[str]:
    if not isinstance(meter, dict):
        return []
    return [f"{meter['used']:,} of {meter['window']:,} tokens, {meter['fraction']:.0%}"]


def _waiting_rows(waiting: object) -> list[str]:
    """What waits for the user, one a row; nothing where nothing does."""
    if not isinstance(waiting, dict):
        return []
    rows = [f"{name}: {one}" for name in ("approval", "question", "queued") for one in waiting[name]]
    return [*rows, *(["a draft"] if waiting["draft"] else [])]


def _branch_rows(branches: object) -> list[str]:
    if not isinstance(branches, list):
        return []
    return [
        f"{one['kind']} at event {one['at_seq']}, {one['outcome']}, {moment(one['started'])}"
        + (f"  {one['session']}  {one['title']}" if one["kind"] == "fork" else "")
        for one in branches
    ]
