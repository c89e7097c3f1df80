"""Finds every permission decision in a log. Other lines are not decoded, so the search is fast.

Invariant: decisions that a fork inherits are not found.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRevoked
from tui_agent.store.log_chunks import read_chunks
from tui_agent.store.log_line import decode_line
from tui_agent.store.log_reader import require_readable

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
