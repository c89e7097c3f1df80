"""Searches in logs for events of a few kinds: permission decisions, and file changes by other sessions.

Invariant: lines with other kinds of events are not decoded, so a search is fast. Events that a fork inherits are not
found.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.log import OtherChange
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRevoked
from tui_agent.store.log_chunks import find_lines, read_chunks
from tui_agent.store.log_line import decode_line, intact_lines, payload_mark
from tui_agent.store.log_reader import require_readable
from tui_agent.store.session_store import SessionStore

_RELEVANT = re.compile(
    rb'"payload":\{"kind":"(permission\.decided|permission\.revoked|env\.started|tool\.called)"'
)
_CALLED = re.compile(rb',"call_id":"([^"]{1,200})","name":"([^"]{1,200})"')


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A permission decision in a log, with its context.

    `granted`: rules that the user had allowed in this session and not revoked.
    """

    seq: int
    tool: str
    workspace: str
    sandboxed: bool
    granted: tuple[str, ...]
    event: PermissionDecided


def find_decisions(folder: Path) -> Iterator[DecisionRecord]:
    """Yield the permission decisions in the log of a session.

    Raise `OSError` if the log cannot be read. Raise `SessionVersionError` if another version wrote the log.
    """
    require_readable(folder)
    tools: dict[bytes, bytes] = {}
    workspace, sandboxed, granted = "", False, dict[str, None]()
    for piece in read_chunks(folder):
        for match in _RELEVANT.finditer(piece):
            if match[1] == b"tool.called":
                called = _CALLED.match(piece, match.end())
                if called is not None:
                    tools[called[1]] = called[2]
                continue
            record = decode_line(
                piece[piece.rfind(b"\n", 0, match.start()) + 1 : piece.find(b"\n", match.end())]
            )
            payload = None if record is None else record.payload
            if isinstance(payload, EnvStarted):
                workspace, sandboxed = payload.root, bool(payload.workspace_sandbox)
            elif isinstance(payload, PermissionRevoked):
                granted.pop(payload.rule, None)
            elif record is not None and isinstance(payload, PermissionDecided):
                tool = tools.get(payload.call_id.encode(), b"").decode("utf-8", "replace")
                yield DecisionRecord(record.seq, tool, workspace, sandboxed, tuple(granted), payload)
                if payload.decision == "allow" and payload.rule and payload.reach != "once":
                    granted[payload.rule] = None


def find_changes_by_others(
    store: SessionStore, own_id: str, workspace: str, since: float
) -> Iterator[OtherChange]:
    """Yield the file changes by other sessions of a workspace after `since` (seconds since the epoch).

    Changes by persons are left out. Raise `StoreError` if the sessions cannot be listed.
    """
    states = [
        state for state in store.log_states() if state.folder.name != own_id and state.modified_at >= since
    ]
    for summary in store.index.summaries(states):
        if summary.workspace != workspace or summary.is_other_version:
            continue
        try:
            lines = list(find_lines(summary.path, payload_mark(FileChanged)))
        except OSError:
            continue  # the session has been removed meanwhile
        for line in lines:
            for record in map(decode_line, intact_lines(line)):
                if not isinstance(record, Envelope) or record.time < since:
                    continue
                change = record.payload
                if isinstance(change, FileChanged) and change.author != "human":
                    yield OtherChange(summary.title or summary.id, record.time, change)
