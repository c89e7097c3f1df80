"""The times of tool calls in trace and chat: only their own, without what they waited for."""

from typing import Any

from tests.stubs.story import Story, called, decision, finished, started
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.transcript.entries import ToolEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import IterationFinished, IterationStarted, TurnStarted
from tui_agent.protocol.ids import CallId, RequestId


def asked(call: str) -> PermissionRequested:
    return PermissionRequested(
        request_id=RequestId(f"p-{call}"), call_id=CallId(call), tool="run_command", verb="run", target="x",
        effects=(), digest="d", preview=(), choices=(), reason="",
    )  # fmt: skip


def denied(call: str) -> ToolFinished:
    return finished(call).model_copy(update={"status": "denied", "duration_ms": 0.0})


def test_a_call_that_never_ran_has_no_time_however_long_it_waited() -> None:
    trace, chat, story = Trace(), Transcript(), Story()
    payloads: list[Any] = [TurnStarted(turn=1), IterationStarted(iteration=1, local_iteration=1)]
    payloads += [called("c1"), called("c2"), called("c3"), called("c4")]
    payloads += [asked("c1"), decision("c1"), started("c1"), finished("c1")]
    payloads += [decision("c2", decision="deny", decided_by="rule"), denied("c2")]
    payloads += [asked("c3"), decision("c3", decision="deny"), denied("c3"), asked("c4")]
    payloads += [denied("c4"), IterationFinished(iteration=1, action="calls", duration_ms=15_000.0)]
    for payload in payloads:
        event = story(payload)
        trace.apply(event)
        chat.apply(event)
    iteration, *calls = trace.view().spans[1:]
    assert [span.duration_ms for span in calls] == [5.0, 0.0, 0.0, 0.0]
    assert sum(span.duration_ms or 0.0 for span in calls) <= (iteration.duration_ms or 0.0)
    rows = [entry for entry in chat.view().entries if isinstance(entry, ToolEntry)]
    assert [row.duration_ms for row in rows] == [5.0, None, None, None]


def test_while_a_call_waits_for_you_its_time_begins_with_its_question() -> None:
    trace, story = Trace(), Story()
    for payload in (TurnStarted(turn=1), called("c1"), called("c2"), started("c1"), finished("c1")):
        trace.apply(story(payload))
    request = story(asked("c2"))
    trace.apply(request)
    assert (trace.view().spans[-1].state, trace.view().spans[-1].start) == ("waiting", request.time)


def test_a_running_call_that_asks_runs_on_from_its_start_without_the_wait() -> None:
    trace, chat, story = Trace(), Transcript(), Story()
    for payload in (TurnStarted(turn=1), called("c1"), started("c1")):
        start = story(payload)
        trace.apply(start)
        chat.apply(start)
    request = story(asked("c1"))
    answer = story(decision("c1"))
    answer = answer.model_copy(update={"time": request.time + 60})
    for event in (request, answer):
        trace.apply(event)
        chat.apply(event)
    (row,) = (entry for entry in chat.view().entries if isinstance(entry, ToolEntry))
    assert (row.state, row.started_at) == ("running", start.time + 60)
    span = trace.view().spans[-1]
    assert (span.state, span.start) == ("running", start.time)
