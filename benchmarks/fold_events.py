"""Cost of folding: `python -m benchmarks.fold_events [EVENTS_FILE]` prints JSON.

Creates a log by repeating a short session, reads it from disk, and folds it into all views together and into each view
alone.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import Projection
from tui_agent.folds.session.agents import AgentsTree
from tui_agent.folds.session.approvals import Approvals
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.todo_list import Todo
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextPacked, Section
from tui_agent.protocol.events.model import ModelDelta, ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.protocol.events.turn import (
    IterationFinished,
    IterationStarted,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.store.log_reader import read_records
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

MODEL = ModelInfo(profile="bench", provider="bench", model="bench", window=200_000, input_price=1.0)
FOLDS: dict[str, Callable[[], Projection[Any]]] = {
    "agents": AgentsTree,
    "approvals": Approvals,
    "files": FilesChanged,
    "messages": ModelMessages,
    "meter": ContextMeter,
    "metrics": Metrics,
    "state": SessionState,
    "todo": Todo,
    "trace": Trace,
    "transcript": Transcript,
}
DELTAS = 30


class Clock:
    time = 1_700_000_000.0

    def now(self) -> float:
        self.time += 0.01
        return self.time


def turn(number: int) -> list[Payload]:
    """Yield about fifty events: a question, a streamed answer, a tool call with live output, and the end of the turn."""
    request, call = RequestId(f"req_{number}"), CallId(f"call_{number}")
    text = "Some words of an answer that streams in. "
    answer = (
        TextPart(text=text * DELTAS),
        ToolCallPart(call_id=call, name="run_command", arguments={"command": "make"}),
    )
    return [
        UserMessageReceived(text=f"Question {number}"),
        TurnStarted(turn=number),
        IterationStarted(iteration=number, local_iteration=1),
        ContextPacked(
            request_id=request,
            window=200_000,
            total_tokens=900,
            total_chars=3_600,
            sections=(Section(name="messages", raw_chars=3_600, chars=3_600, tokens=900),),
        ),
        ModelRequested(
            request_id=request,
            iteration=number,
            local_iteration=1,
            model=MODEL,
            tools=("run_command",),
            messages=number,
            max_tokens=100,
        ),
        *(ModelDelta(request_id=request, part_kind="text", part_index=0, text=text) for _ in range(DELTAS)),
        ModelResponded(
            request_id=request,
            first_part=3 * (number - 1),
            parts=answer,
            finish="tool_calls",
            usage=Usage(input_tokens=900, output_tokens=90),
            cost_usd=0.001,
            duration_ms=1_000.0,
        ),
        ToolCalled(
            call_id=call,
            name="run_command",
            arguments={"command": "make"},
            iteration=number,
            verb="run",
            target="make",
        ),
        ToolStarted(call_id=call, writes=True),
        *(ToolProgress(call_id=call, text="compiling a file\n" * 5) for _ in range(8)),
        ToolFinished(
            call_id=call,
            name="run_command",
            status="ok",
            part=3 * number - 1,
            content=(TextContent(text="done"),),
            summary="exit 0",
            duration_ms=80.0,
        ),
        IterationFinished(iteration=number, action="calls", duration_ms=1_100.0),
        TurnFinished(turn=number, reason="finished", duration_ms=1_200.0),
    ]


def write(root: Path, count: int) -> Path:
    log = SessionStore(root / "sessions", Clock(), Redactor()).create("bench")
    log.append(SessionStarted(workspace="/bench", product="bench", settings=SessionSettings(model=MODEL)))
    number = 0
    while log.last_seq + 1 < count:
        number += 1
        for payload in turn(number):
            log.append(payload)
    log.close()
    return log.folder


def folded(names: Sequence[str], events: Sequence[Envelope]) -> float:
    folds = [FOLDS[name]() for name in names]
    begun = time.perf_counter()
    for event in events:
        for projection in folds:
            projection.apply(event)
    for projection in folds:
        projection.view()
    return time.perf_counter() - begun


def main(count: int = 50_000) -> dict[str, float | dict[str, float]]:
    """Return the figures in milliseconds."""
    with tempfile.TemporaryDirectory() as root:
        folder = write(Path(root), count)
        begun = time.perf_counter()
        events = [record for record in read_records(folder) if isinstance(record, Envelope)]
        decoded = time.perf_counter() - begun
        begun = time.perf_counter()
        few = [record for record in read_records(folder, skip_deltas=True) if isinstance(record, Envelope)]
        skipped = time.perf_counter() - begun
        return {
            "events": len(events),
            "decode_ms": round(decoded * 1e3),
            "decode_without_deltas_ms": round(skipped * 1e3),
            "events_without_deltas": len(few),
            "fold_all_ms": round(folded(list(FOLDS), events) * 1e3),
            "fold_all_without_deltas_ms": round(folded(list(FOLDS), few) * 1e3),
            "each_ms": {name: round(folded([name], events) * 1e3, 1) for name in FOLDS},
        }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1])) if len(sys.argv) > 1 else main()))
