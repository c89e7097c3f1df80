"""The tables of sessions for `tui-agent query`, and the rows of one session in these tables.

Invariant: the rows of a fork cover only its own events, so that no cost is counted twice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic_core import to_json

from tui_agent.folds.session.branches import Branches, is_on_branch, stretches
from tui_agent.folds.trace.part_list import Parts
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.parts import Usage
from tui_agent.store.lineage import read_origin
from tui_agent.store.log_reader import iterate_records
from tui_agent.store.session_summary import summarise_session

TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "sessions": {
        "session": "VARCHAR",
        "title": "VARCHAR",
        "workspace": "VARCHAR",
        "model": "VARCHAR",
        "started": "TIMESTAMP",
        "updated": "TIMESTAMP",
        "events": "BIGINT",
        "turns": "BIGINT",
        "cost_usd": "DOUBLE",
        "cost_precision": "VARCHAR",
        "outcome": "VARCHAR",
        "parent": "VARCHAR",
    },
    "events": {
        "session": "VARCHAR",
        "seq": "BIGINT",
        "time": "TIMESTAMP",
        "agent": "VARCHAR",
        "turn": "BIGINT",
        "kind": "VARCHAR",
        "on_branch": "BOOLEAN",
        "payload": "JSON",
    },
    "parts": {
        "session": "VARCHAR",
        "part": "BIGINT",
        "turn": "BIGINT",
        "seq": "BIGINT",
        "time": "TIMESTAMP",
        "agent": "VARCHAR",
        "type": "VARCHAR",
        "tool": "VARCHAR",
        "status": "VARCHAR",
        "summary": "VARCHAR",
        "duration_ms": "DOUBLE",
        "changed_files": "BOOLEAN",
        "commit": "VARCHAR",
        "call_id": "VARCHAR",
        "on_branch": "BOOLEAN",
    },
    "costs": {
        "session": "VARCHAR",
        "seq": "BIGINT",
        "time": "TIMESTAMP",
        "agent": "VARCHAR",
        "turn": "BIGINT",
        "provider": "VARCHAR",
        "model": "VARCHAR",
        "purpose": "VARCHAR",
        "input_tokens": "BIGINT",
        "cached_tokens": "BIGINT",
        "output_tokens": "BIGINT",
        "reasoning_tokens": "BIGINT",
        "cost_usd": "DOUBLE",
        "cost_precision": "VARCHAR",
        "duration_ms": "DOUBLE",
        "fault": "VARCHAR",
    },
}
"""Maps the name of a table to its columns with their types; times are in UTC."""

_SAME_NAMES: Final = (
    "part",
    "seq",
    "time",
    "agent",
    "type",
    "summary",
    "duration_ms",
    "changed_files",
    "call_id",
)
"""Columns of the table `parts` that equal a field of `PartRow` in name and value."""
Rows = dict[str, list[dict[str, Any]]]


@dataclass
class _Tables:
    """The rows of one session while its log is read."""

    session: str
    events: list[dict[str, Any]] = field(default_factory=list)
    costs: list[dict[str, Any]] = field(default_factory=list)
    requests: dict[str, ModelRequested] = field(default_factory=dict)
    parts: Parts = field(default_factory=Parts)
    branches: Branches = field(default_factory=Branches)

    def apply(self, event: Envelope) -> None:
        self.branches.apply(event)
        self.parts.apply(event)
        match event.payload:
            case ModelRequested() as request:
                self.requests[request.request_id] = request
            case ModelResponded(author="model") as answer:
                self._add_cost(event, answer, duration_ms=answer.duration_ms, fault=None)
            case ModelFailed() as failure:
                self._add_cost(event, failure, duration_ms=None, fault=failure.fault)
            case _:
                pass

    def _add_cost(self, event: Envelope, end: ModelResponded | ModelFailed, **fields: Any) -> None:
        request = self.requests.pop(end.request_id, None)
        usage: Usage = end.usage
        self.costs.append(
            {
                **self._place(event),
                "provider": request.model.provider if request else None,
                "model": request.model.model if request else None,
                "purpose": request.purpose if request else None,
                **usage.model_dump(exclude={"estimated", "cache_write_tokens"}),
                "cost_usd": end.cost_usd,
                "cost_precision": end.cost_precision,
                **fields,
            }
        )

    def _place(self, event: Envelope) -> dict[str, Any]:
        return {
            "session": self.session,
            "seq": event.seq,
            "time": event.time,
            "agent": event.agent,
            "turn": self.parts.turn or None,
        }


def read_session_rows(folder: Path) -> Rows:
    """Map the name of each table to the rows of one session.

    Raise `SessionNotFound` or `OSError` if the session's log is missing or unreadable.
    """
    tables, last_seq = _Tables(folder.name), -1
    for record in _own_records(folder):
        last_seq = record.seq
        if isinstance(record, Envelope):
            tables.apply(record)
            payload: Any = record.payload
            kind = record.payload.kind
            place = tables._place(record)
        else:
            payload, kind = record.raw.get("payload"), record.kind
            place = {"session": folder.name, "seq": record.seq, "time": record.time, "agent": record.agent}
        tables.events.append({**place, "kind": kind, "payload": to_json(payload).decode()})
    branch = stretches(tables.branches.view().moves, last_seq)
    parts = [
        {
            "session": folder.name,
            **{name: getattr(row, name) for name in _SAME_NAMES},
            "turn": row.turn or None,
            "tool": row.name or None,
            "status": row.status or None,
            "commit": row.commit or None,
        }
        for row in tables.parts.rows
    ]
    for row in (*tables.events, *parts):
        row["on_branch"] = is_on_branch(row["seq"], branch)
    return {"sessions": _session_row(folder), "events": tables.events, "parts": parts, "costs": tables.costs}


def _own_records(folder: Path) -> Iterator[Any]:
    origin = read_origin(folder)
    return iterate_records(folder, after=-1 if origin is None else origin.at_seq)


def _session_row(folder: Path) -> list[dict[str, Any]]:
    summary = summarise_session(folder)
    if summary is None:
        return []
    facts = {"session": folder.name, **summary.to_json()}
    return [{name: facts[name] for name in TABLES["sessions"]}]
