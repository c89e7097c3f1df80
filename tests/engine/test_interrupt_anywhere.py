"""Esc at any moment: after every single event of a turn the interruption ends it, legally, and the next turn works."""

from pathlib import Path

import anyio
import pytest

from tests.engine.harness import Bench, EchoTool, ask, call, running, say
from tests.stubs.legal_history import check_pairs
from tui_agent.ports.model import FinishChunk, ModelFault, TextChunk
from tui_agent.protocol.commands import DecidePermission, Interrupt, Steer, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionRequested


def _answers() -> list[object]:
    pieces = [TextChunk(word + " ") for word in ["a", "slowly", "streaming", "answer"]]
    paced: list[object] = [item for piece in pieces for item in (piece, anyio.lowlevel.checkpoint)]
    return [
        [*paced[:3], ModelFault("overloaded", "busy", retry_after=0.0)],
        call(("echo", '{"words":"a"}'), ("echo", '{"words":"b"}'), ("write", '{"words":"c"}'), text="Three."),
        [*paced, FinishChunk("stop")],
        say("spare"),
        say("spare"),
    ]


async def _turn_interrupted_after(tmp_path: Path, number: int) -> tuple[int, Bench]:
    """Run a turn and interrupt it when its `number`-th event is recorded; (events of the turn, bench)."""
    tools = [EchoTool(), EchoTool("write", safe=False, writes=True)]
    async with running(tmp_path, _answers(), tools, policy=ask, session=f"ses_{number}") as bench:
        count = 0

        def react(event: Envelope) -> None:
            nonlocal count
            count += 1
            if isinstance(event.payload, PermissionRequested):
                bench.submit(DecidePermission(request_id=event.payload.request_id, decision="allow"))
            if count == 3:
                bench.submit(Steer(text="and quickly"))
            if count == number:
                bench.submit(Interrupt())

        bench.on_event = react
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        whole = count
        bench.on_event = None
        state = bench.recorder.state
        assert check_pairs(bench.recorder.messages()) == [], number
        assert state.open_calls == () and state.open_requests == () and not state.turn_running, number
        assert state.permissions == (), number
        bench.model.answers[:] = [say("I am here.")]
        bench.submit(SubmitPrompt(text="still there?"))
        await bench.until("turn.finished", bench.kinds().count("turn.finished") + 1)
        assert bench.recorder.state.last_turn_end == "finished", number
        assert check_pairs(bench.model.requests[-1].messages) == [], number
    return whole, bench


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_an_interrupt_after_any_event_ends_the_turn_and_the_next_one_works(tmp_path: Path) -> None:
    whole, bench = await _turn_interrupted_after(tmp_path, 100_000)
    assert "permission.requested" in bench.kinds() and "model.retried" in bench.kinds()
    for number in range(1, whole + 1):
        await _turn_interrupted_after(tmp_path, number)
