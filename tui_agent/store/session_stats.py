"""What a list shows of a session's course: turns, cost, title, model and folder, counted; how it stands, from its end.

Invariant: each byte of a log is counted once, and a line is decoded only where its kind may say something; whatever
shape a line has, nothing is raised. A fork counts what it did itself.
"""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import (
    RunStarted,
    SessionForked,
    SessionHeadMoved,
    SessionStarted,
    SessionTitled,
    SettingsChanged,
    WorkspaceMoved,
)
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import QuestionAnswered, QuestionAsked, TurnEnd, TurnFinished
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.store.blobs import BlobStore
from tui_agent.store.chunks import pieces_from
from tui_agent.store.line import decode, intact
from tui_agent.store.scan import lines, seq_of

Outcome: TypeAlias = Literal["empty", "done", "failed", "stopped", "waiting", "open", ""]
"""How a session's newest turn stands: `open` has no end yet, `waiting` waits for the user; empty: not known."""

MOST: Final = 8 * 1024 * 1024
"""Bytes that are counted at once, lest a list waits for a long log; the index counts the rest when it is next used."""
_PAYLOAD = b'"payload":{"kind":"'
_COST = re.compile(rb'"cost_usd":(-?[0-9][0-9.eE+-]*)')
_TURN, _TITLE = b'turn.started"', b'session.titled"'
_BILLED = (b'model.responded"', b'model.failed"')
_FORKED = b'session.forked"'
_HEAD_MOVED = b'session.head_moved"'
_MOVED = b'session.workspace_moved"'
_MODEL = (b'model.requested"', b'run.started"', b'session.started"', b'settings.changed","key":"model"')
_COUNTED = (_TURN, _TITLE, *_BILLED, _FORKED, _MOVED, *_MODEL)
_ENDS: Final[dict[TurnEnd, Outcome]] = {
    "finished": "done",
    "rejected": "failed",
    "stuck": "failed",
    "model_error": "failed",
    "error": "failed",
}
"""Every other end is that of a turn that was stopped."""
_SETTLED = (b"permission.decided", b"question.answered")
_ASKED = (b"permission.requested", b"question.asked")
_WITHIN = (b"iteration.", b"user.message")


@dataclass(frozen=True, slots=True)
class Figures:
    """What was counted of a log's first `read_to` bytes. `cost_usd` is None where no price was known; `workspace` is the
    folder that the session moved to, or took as a fork; empty where it works where it began."""

    turns: int = 0
    cost_usd: float | None = None
    title: str = ""
    model: str = ""
    workspace: str = ""
    read_to: int = 0


def counted(piece: bytes, before: Figures, blobs: BlobStore) -> Figures:
    """The figures with the whole lines that come next."""
    turns, cost, title, place = before.turns, before.cost_usd, before.title, before.workspace
    start, size = 0, len(piece)
    asked: list[bytes] = []
    while start < size:
        end = piece.find(b"\n", start)
        end = size if end < 0 else end
        kind = piece.find(_PAYLOAD, start, end) + len(_PAYLOAD)
        if kind >= len(_PAYLOAD) and piece.startswith(_COUNTED, kind):
            line = piece[start:end]
            if not intact(line):
                pass
            elif piece.startswith(_TURN, kind):
                turns += 1
            elif piece.startswith(_TITLE, kind):
                title = _title(line, blobs) or title
            elif piece.startswith(_FORKED, kind):
                turns, cost = 0, None
                place = _place(line, blobs) or place
            elif piece.startswith(_MOVED, kind):
                place = _place(line, blobs) or place
            elif piece.startswith(_MODEL, kind):
                asked.append(line)
            elif (spent := _cost(line, blobs)) is not None:
                cost = (cost or 0.0) + spent
        start = end + 1
    # Delegates ask, too: the newest of the main agent's is nearly always among the last.
    model = next((name for line in reversed(asked) if (name := _model(line, blobs))), before.model)
    return Figures(turns, cost, title, model, place, before.read_to + size)


def figures(folder: Path, size: int, blobs: BlobStore, known: Figures | None = None) -> Figures | None:
    """What a log of so many bytes says, counted on from what is known; None where that is too much to count at once."""
    found = known or Figures()
    if found.read_to > size:
        found = Figures()
    if size - found.read_to > MOST:
        return None
    for piece in pieces_from(folder, found.read_to, size):
        found = counted(piece, found, blobs)
    return replace(found, cost_usd=None if found.cost_usd is None else round(found.cost_usd, 9))


def _title(line: bytes, blobs: BlobStore) -> str:
    record = decode(line, blobs)
    payload = record.payload if isinstance(record, Envelope) else None
    return payload.title if isinstance(payload, SessionTitled) else ""


def _place(line: bytes, blobs: BlobStore) -> str:
    record = decode(line, blobs)
    match record.payload if isinstance(record, Envelope) else None:
        case SessionForked(changed=changed):
            return changed.workspace
        case WorkspaceMoved(workspace=workspace):
            return workspace
        case _:
            return ""


def _cost(line: bytes, blobs: BlobStore) -> float | None:
    """What an answer cost. Its own field is the last of that name: the model's words come before it."""
    at = line.rfind(b'"cost_usd":')
    found = _COST.match(line, at) if at >= 0 else None
    if found is not None:
        return float(found[1])
    if b'"payload_blob":"' not in line:
        return None
    record = decode(line, blobs)
    payload = record.payload if isinstance(record, Envelope) else None
    return payload.cost_usd if isinstance(payload, ModelResponded | ModelFailed) else None


def outcome(data: bytes, blobs: BlobStore, *, whole: bool) -> tuple[Outcome, int | None]:
    """How the session stands of which these are the last lines; `whole`: all of them. Empty where they do not tell.

    What was taken back tells nothing. With it the `seq` at which the present branch goes on where the head was moved.
    """
    seen, newest = _Seen(), None
    for _, line in reversed(list(lines(data))):
        start = line.find(_PAYLOAD) + len(_PAYLOAD)
        if start < len(_PAYLOAD) or _is_behind(line, newest):
            continue
        if line.startswith(_HEAD_MOVED, start):
            newest = _moved_to(line, blobs, newest)
            continue
        found = _outcome(line, start, seen, blobs)
        if found:
            return found, newest
    return seen.ended or (("open" if seen.within else "empty") if whole else ""), newest


def _is_behind(line: bytes, newest: int | None) -> bool:
    seq = seq_of(line) if newest is not None else None
    return newest is not None and (seq is None or seq > newest)


def _moved_to(line: bytes, blobs: BlobStore, newest: int | None) -> int | None:
    record = decode(line, blobs)
    payload = record.payload if isinstance(record, Envelope) else None
    return payload.to_seq if isinstance(payload, SessionHeadMoved) else newest


@dataclass(slots=True)
class _Seen:
    """What the lines behind a line say of the newest turn: which requests were settled, that something of it stands
    there, and that its program ended it: then what waited for the user is asked again."""

    settled: set[str] = field(default_factory=set)
    within: bool = False
    ended: Outcome = ""


def _outcome(line: bytes, start: int, seen: _Seen, blobs: BlobStore) -> Outcome:
    """What a line says of the turn, once it is told what the lines behind it say."""
    if line.startswith(b"turn.started", start):
        return seen.ended or "open"
    if line.startswith((b"turn.finished", *_SETTLED, *_ASKED), start) or (
        seen.ended and line.startswith(b"tool.finished", start)
    ):
        record = decode(line, blobs)
        match record.payload if isinstance(record, Envelope) else None:
            case TurnFinished() if seen.ended:
                return seen.ended
            case TurnFinished(reason="interrupted") if not seen.within:
                seen.ended = "stopped"
            case TurnFinished(reason=reason):
                return "open" if seen.within else _ENDS.get(reason, "stopped")
            case (
                PermissionDecided(call_id=key) | ToolFinished(call_id=key) | QuestionAnswered(question_id=key)
            ):
                seen.settled.add(key)
            case PermissionRequested(call_id=key):
                seen.within = True
                return "" if key in seen.settled else "waiting"
            case QuestionAsked(question_id=key):
                seen.within = True
                return "" if seen.ended or key in seen.settled else "waiting"
    seen.within = seen.within or line.startswith(_WITHIN, start)
    return ""


def _model(line: bytes, blobs: BlobStore) -> str:
    record = decode(line, blobs)
    if not isinstance(record, Envelope) or record.agent != MAIN_AGENT:
        return ""
    match record.payload:
        case ModelRequested(model=model) | RunStarted(model=model):
            return model.model
        case SessionStarted(settings=settings):
            return settings.model.model
        case SettingsChanged(key="model", value={"model": str(name)}):
            return name
    return ""
