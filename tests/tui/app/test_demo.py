"""The app's part in a demo: one steer while the agent works, and the replay at the end; typing keeps the chat."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import NOWHERE, Driven, golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.commands import Interrupt, Steer
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelDelta, ModelRequested
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.controller import demo_guide
from tui_agent.tui.screens.replay.screen import ReplayScreen

RECORDS = golden("night_shift")
KINDS = [record.payload.kind if isinstance(record, Envelope) else "" for record in RECORDS]
MESSAGE = max(seq for seq, kind in enumerate(KINDS) if kind == "user.message")
"""The event of the newest turn's message."""
ITERATIONS = [seq for seq, kind in enumerate(KINDS) if kind == "iteration.started" and seq > MESSAGE]
STEER = "Also test midnight."


@asynccontextmanager
async def demo(client: str = "demo") -> AsyncIterator[Driven]:
    """The app on a demo whose turn has just started."""
    session = FakeSession(RECORDS[: MESSAGE + 2])
    options = SessionOptions(cwd=NOWHERE, data_dir=NOWHERE, client=client, steer=STEER)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(demo_guide, "READ_S", 0.0)
        async with open_app(session=session, options=options) as driven:
            yield driven


async def record_until(driven: Driven, end: int) -> None:
    """Record the golden session's events up to `end` (not included), and wait for what follows from them."""
    driven.session.records.extend(RECORDS[len(driven.session.records) : end])
    driven.session.wake()
    await driven.settle()
    while any(worker.name == "demo replay" for worker in driven.app.workers):
        await driven.pilot.pause(0.01)
    await driven.settle()


async def test_the_agent_is_steered_once_in_the_second_iteration() -> None:
    async with demo() as driven:
        await record_until(driven, ITERATIONS[1])
        assert driven.session.submitted == []
        await record_until(driven, ITERATIONS[1] + 1)
        [command] = driven.session.submitted
        assert isinstance(command, Steer) and command.text == STEER
        assert "The demo sent the agent a message" in driven.text()
        await record_until(driven, len(RECORDS))
        assert len(driven.session.submitted) == 1


async def test_the_replay_opens_at_the_message_when_the_turn_has_ended() -> None:
    async with demo() as driven:
        await record_until(driven, len(RECORDS))
        assert isinstance(driven.app.screen, ReplayScreen)
        await driven.until(lambda: f"event {MESSAGE} of" in driven.text())


async def test_typing_keeps_the_chat() -> None:
    async with demo() as driven:
        await driven.type("w")
        await record_until(driven, len(RECORDS))
        assert len(driven.app.screen_stack) == 1 and "Fixed." in driven.text()


@pytest.mark.parametrize("client", ["app", "editor"])
async def test_a_turn_that_is_no_demo_is_left_alone(client: str) -> None:
    async with demo(client) as driven:
        await record_until(driven, len(RECORDS))
        assert driven.session.submitted == [] and len(driven.app.screen_stack) == 1


async def test_an_endless_answer_opens_no_replay_and_esc_stops_it() -> None:
    async with demo() as driven:
        await record_until(driven, ITERATIONS[0] + 1)
        await stream(driven, 5_000)
        assert "word 4999" in driven.text() and len(driven.app.screen_stack) == 1
        await driven.press("escape")
        assert isinstance(driven.session.submitted[-1], Interrupt)
        driven.session.feed(TurnFinished(turn=2, reason="interrupted", duration_ms=5.0))
        await driven.settle()
        assert len(driven.app.screen_stack) == 1 and not [
            worker for worker in driven.app.workers if worker.name == "demo replay"
        ]


async def stream(driven: Driven, count: int) -> None:
    """The model streams words of one answer."""
    request = RequestId("req_endless")
    payloads = (record.payload for record in RECORDS if isinstance(record, Envelope))
    first = next(payload for payload in payloads if isinstance(payload, ModelRequested))
    driven.session.feed(first.model_copy(update={"request_id": request}))
    words = (
        ModelDelta(request_id=request, part_kind="text", part_index=0, text=f"word {number} ")
        for number in range(count)
    )
    driven.session.feed(*words, after=0.001)
    await driven.settle()
