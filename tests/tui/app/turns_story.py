"""A session that has just begun, and turns to feed into it."""

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, golden
from tui_agent.protocol.events.job import JobStarted
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.ids import CallId, JobId, RequestId
from tui_agent.protocol.parts import TextPart, Usage


def turn(driven: Driven, number: int, text: str, answer: str, cost: float | None = None) -> int:
    """One turn; the seq of its message."""
    seq = len(driven.session.records)
    driven.session.feed(
        UserMessageReceived(text=text),
        TurnStarted(turn=number),
        ModelResponded(
            request_id=RequestId(f"req_{number}"),
            first_part=number,
            parts=(TextPart(text=answer),),
            finish="stop",
            usage=Usage() if cost is None else Usage(input_tokens=1000, output_tokens=10),
            cost_usd=cost,
            duration_ms=1.0,
        ),
        TurnFinished(turn=number, reason="finished", duration_ms=5.0),
    )
    return seq


def begun() -> FakeSession:
    """A session that has just begun."""
    return FakeSession(golden("streaming")[:3])


def run_long_command(driven: Driven) -> int:
    """Feed a turn with a command of 14 seconds. Return the event before the turn."""
    seq = len(driven.session.records)
    call_id = CallId("call_1")
    driven.session.feed(
        UserMessageReceived(text="the first thing"),
        TurnStarted(turn=1),
        ToolCalled(
            call_id=call_id, name="run_command", arguments={}, iteration=1, verb="run", target="pytest -q"
        ),
        ToolStarted(call_id=call_id, writes=True),
        ToolFinished(
            call_id=call_id, name="run_command", status="ok", part=1, content=(), duration_ms=14_000.0
        ),
        TurnFinished(turn=1, reason="finished", duration_ms=14_005.0),
    )
    return seq - 1


def start_job(driven: Driven, command: str) -> int:
    """Feed a turn that starts a background job. Return the event before the turn."""
    seq = len(driven.session.records)
    call_id = CallId("call_1")
    driven.session.feed(
        UserMessageReceived(text="the first thing"),
        TurnStarted(turn=1),
        ToolCalled(
            call_id=call_id, name="run_command", arguments={}, iteration=1, verb="run", target=command
        ),
        ToolStarted(call_id=call_id, writes=True),
        JobStarted(job_id=JobId("job-1"), command=command, call_id=call_id),
        ToolFinished(
            call_id=call_id, name="run_command", status="ok", part=1, content=(), duration_ms=1_000.0
        ),
        TurnFinished(turn=1, reason="finished", duration_ms=1_005.0),
    )
    return seq - 1
