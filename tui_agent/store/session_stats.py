"""Statistics of a session for lists: turns, cost, title, model and folder, and the state of its newest turn.

Invariant: each byte of a log is counted once, and only lines of relevant kinds are decoded.
"""
# Folds compute equal values from decoded events, but too slowly for a list of hundreds of sessions.
# tests/properties/test_session_stats.py compares the results for any log.

import re
from dataclasses import field, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.usage_totals import NO_USAGE, UsageTotals
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
from tui_agent.store.log_chunks import read_chunk_range
from tui_agent.store.log_line import decode_line, decode_payload, is_intact
from tui_agent.store.log_scan import read_seq, split_lines
from tui_agent.units import CostPrecision

Outcome: TypeAlias = Literal["empty", "done", "failed", "stopped", "waiting", "open", ""]
"""State of a session's newest turn.

- `open`: the log does not contain the turn's end.
- `waiting`: the user must answer.
- `""`: unknown.
"""

MAX_BYTES: Final = 8 * 1024 * 1024
"""To list a session, at most this number of bytes of its log are read."""
# The rest of a longer log is counted when the index is updated.
_PAYLOAD = b'"payload":{"kind":"'
_COST = re.compile(rb'"cost_usd":(null|-?[0-9][0-9.eE+-]*)')
_ANSWER, _BY_AGENT, _ESTIMATED = b'"kind":"model.responded"', b'"author":"agent"', b'"estimated":true'
_TURN, _TITLE = b'turn.started"', b'session.titled"'
_BILLED = (b'model.responded"', b'model.failed"')
_FORKED = b'session.forked"'
_HEAD_MOVED = b'session.head_moved"'
_MOVED = b'session.workspace_moved"'
_MODEL = (b'model.requested"', b'run.started"', b'session.started"', b'settings.changed","key":"model"')
_COUNTED = (_TURN, _TITLE, *_BILLED, _FORKED, _MOVED, *_MODEL)
_OUTCOMES: Final[dict[TurnEnd, Outcome]] = {
    "finished": "done",
    "rejected": "failed",
    "stuck": "failed",
    "model_error": "failed",
    "error": "failed",
}
"""Maps the reason why a turn ended to the state of the turn. Any other reason means `stopped`."""
_SETTLED = (b"permission.decided", b"question.answered")
_REQUESTS = (b"permission.requested", b"question.asked")
_IN_TURN = (b"iteration.", b"user.message")


@dataclass(frozen=True, slots=True)
class SessionStats:
    """Counts for the beginning of a session's log: its first `lines` lines (`read_to` bytes).

    - `cost_usd`: None if no price was known.
    - `workspace`: folder that the session moved to or was forked into. Empty if the session stayed in its first
      folder.
    """

    turns: int = 0
    cost_usd: float | None = None
    cost_precision: CostPrecision = "exact"
    title: str = ""
    model: str = ""
    workspace: str = ""
    lines: int = 0
    read_to: int = 0


def count_lines(piece: bytes, previous: SessionStats, blobs: BlobStore) -> SessionStats:
    """Count the next whole lines of a log (`piece`), and return the new totals.

    `previous`: totals for the earlier lines.
    """
    turns, title, workspace = previous.turns, previous.title, previous.workspace
    usage = UsageTotals(cost_usd=previous.cost_usd, cost_precision=previous.cost_precision)
    start, size = 0, len(piece)
    model_lines: list[bytes] = []
    line_costs: list[tuple[float | None, CostPrecision]] = []
    while start < size:
        end = piece.find(b"\n", start)
        end = size if end < 0 else end
        kind = piece.find(_PAYLOAD, start, end) + len(_PAYLOAD)
        if kind >= len(_PAYLOAD) and piece.startswith(_COUNTED, kind):
            line = piece[start:end]
            if not is_intact(line):
                pass
            elif piece.startswith(_TURN, kind):
                turns += 1
            elif piece.startswith(_TITLE, kind):
                title = _read_title(line, blobs) or title
            elif piece.startswith(_FORKED, kind):
                turns, usage, line_costs = 0, NO_USAGE, []
                workspace = _read_workspace(line, blobs) or workspace
            elif piece.startswith(_MOVED, kind):
                workspace = _read_workspace(line, blobs) or workspace
            elif piece.startswith(_MODEL, kind):
                model_lines.append(line)
            else:
                line_costs.append(_read_cost(line, blobs))
        start = end + 1
    # Delegates send requests too; the main agent's newest one is nearly always among the last lines.
    model = next(
        (name for line in reversed(model_lines) if (name := _read_model(line, blobs))), previous.model
    )
    usage = usage.with_costs(line_costs)
    lines = previous.lines + piece.count(b"\n")
    return SessionStats(
        turns, usage.cost_usd, usage.cost_precision, title, model, workspace, lines, previous.read_to + size
    )


def count_log(
    folder: Path, size: int, blobs: BlobStore, known: SessionStats | None = None
) -> SessionStats | None:
    """Count the first `size` bytes of a session's log, continuing from the counts `known`.

    Return None if more than `MAX_BYTES` must be read.
    """
    counts = known or SessionStats()
    if counts.read_to > size:
        counts = SessionStats()
    if size - counts.read_to > MAX_BYTES:
        return None
    for piece in read_chunk_range(folder, counts.read_to, size):
        counts = count_lines(piece, counts, blobs)
    return replace(counts, cost_usd=None if counts.cost_usd is None else round(counts.cost_usd, 9))


def _read_title(line: bytes, blobs: BlobStore) -> str:
    payload = decode_payload(line, blobs)
    return payload.title if isinstance(payload, SessionTitled) else ""


def _read_workspace(line: bytes, blobs: BlobStore) -> str:
    match decode_payload(line, blobs):
        case SessionForked(changes=changed):
            return changed.workspace
        case WorkspaceMoved(workspace=workspace):
            return workspace
        case _:
            return ""


def _read_cost(line: bytes, blobs: BlobStore) -> tuple[float | None, CostPrecision]:
    """Read the cost (None if unknown) and its precision from the line about the end of a model call."""
    # Take the last matching fields: the model's text, earlier in the line, can contain the same names.
    usage = line.rfind(b'"usage":')
    match = _COST.search(line, usage) if usage >= 0 else None
    if match is not None and match[1] != b"null":
        return float(match[1]), "estimated" if line.find(_ESTIMATED, usage) >= 0 else "exact"
    if match is not None and _ANSWER in line and line.find(_BY_AGENT, usage) < 0:
        return None, "partial"
    payload = decode_payload(line, blobs)
    if isinstance(payload, ModelResponded | ModelFailed):
        return payload.cost_usd, payload.cost_precision
    return None, "exact"


def read_outcome(data: bytes, blobs: BlobStore, *, is_complete: bool) -> tuple[Outcome, int | None]:
    """Return the state of a session's newest turn, and the event that the session was moved back to.

    The state is "" if `data` does not show it. The event is None if the session was not moved back.

    `data`: the last lines of the log. `is_complete`: True if `data` is the whole log.
    """
    later, branch_end = _LaterLines(), None
    for _, line in reversed(list(split_lines(data))):
        start = line.find(_PAYLOAD) + len(_PAYLOAD)
        if start < len(_PAYLOAD) or _is_undone(line, branch_end):
            continue
        if line.startswith(_HEAD_MOVED, start):
            branch_end = _head_target(line, blobs, branch_end)
            continue
        turn_outcome = _line_outcome(line, start, later, blobs)
        if turn_outcome:
            return turn_outcome, branch_end
    return later.ended or (("open" if later.has_content else "empty") if is_complete else ""), branch_end


def _is_undone(line: bytes, branch_end: int | None) -> bool:
    seq = read_seq(line) if branch_end is not None else None
    return branch_end is not None and (seq is None or seq > branch_end)


def _head_target(line: bytes, blobs: BlobStore, branch_end: int | None) -> int | None:
    payload = decode_payload(line, blobs)
    return payload.to_seq if isinstance(payload, SessionHeadMoved) else branch_end


@dataclass(slots=True)
class _LaterLines:
    """Facts from later lines of a log, collected while the log is read backwards.

    - `settled`: ids of requests and questions that were answered.
    - `has_content`: True if one of the lines belongs to a turn.
    - `ended`: state of the newest turn if that turn was interrupted; otherwise empty.
    """

    # An earlier permission request without a decision makes the state `waiting` instead of `ended`.

    settled: set[str] = field(default_factory=set)
    has_content: bool = False
    ended: Outcome = ""


def _line_outcome(line: bytes, start: int, later: _LaterLines, blobs: BlobStore) -> Outcome:
    """Return the state of a session's newest turn if this line and the later lines show it, otherwise ""."""
    if line.startswith(b"turn.started", start):
        return later.ended or "open"
    if line.startswith((b"turn.finished", *_SETTLED, *_REQUESTS), start) or (
        later.ended and line.startswith(b"tool.finished", start)
    ):
        match decode_payload(line, blobs):
            case TurnFinished() if later.ended:
                return later.ended
            case TurnFinished(reason="interrupted") if not later.has_content:
                later.ended = "stopped"
            case TurnFinished(reason=reason):
                return "open" if later.has_content else _OUTCOMES.get(reason, "stopped")
            case (
                PermissionDecided(call_id=key) | ToolFinished(call_id=key) | QuestionAnswered(question_id=key)
            ):
                later.settled.add(key)
            case PermissionRequested(call_id=key):
                later.has_content = True
                return "" if key in later.settled else "waiting"
            case QuestionAsked(question_id=key):
                later.has_content = True
                return "" if later.ended or key in later.settled else "waiting"
    later.has_content = later.has_content or line.startswith(_IN_TURN, start)
    return ""


def _read_model(line: bytes, blobs: BlobStore) -> str:
    record = decode_line(line, blobs)
    if record is None or record.agent != MAIN_AGENT:
        return ""
    match record.payload:
        case ModelRequested(model=model) | RunStarted(model=model):
            return model.model
        case SessionStarted(settings=settings):
            return settings.model.model
        case SettingsChanged(key="model", value={"model": str(name)}):
            return name
    return ""
