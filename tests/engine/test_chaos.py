"""Eighty turns with a model that misbehaves: every turn ends, every history is legal, no half call ever runs."""

import random
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.engine.harness import EchoTool, FakeModel, QuickClock, call, running, say
from tests.stubs.legal_history import check_pairs
from tui_agent.models.chaos import ChaosClient
from tui_agent.ports.model import ModelChunk, ModelRequest
from tui_agent.protocol.commands import AnswerQuestion, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.tool import ToolCalled, ToolStarted
from tui_agent.protocol.events.turn import QuestionAsked

TURNS = 80
"""`tests/soak/test_sessions_for_long.py` plays four thousand."""
WHOLE = re.compile(r"complete [0-9]+ words")


class Wild:
    """Answers at random, now with calls, now with words; the same request is answered the same way again."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.requests: list[ModelRequest] = []

    def answer(self, request: ModelRequest) -> list[ModelChunk]:
        dice = random.Random(f"{self._seed} {len(request.messages)}")
        number = dice.choice((0, 0, 1, 2, 3))
        if not number:
            return say("word " * dice.randint(1, 40))
        wanted = [("echo", f'{{"words": "complete {dice.randrange(10**6)} words"}}') for _ in range(number)]
        return call(*wanted, text=dice.choice(("", "I look.")))


class WildClient:
    """`Wild` as a client."""

    def __init__(self, wild: Wild, inner: FakeModel) -> None:
        self._wild = wild
        self._inner = inner

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        faults = check_pairs(request.messages)
        assert faults == [], faults
        self._wild.requests.append(request)
        self._inner.answers[:] = [self._wild.answer(request)]
        return self._inner.stream(request)

    async def aclose(self) -> None:
        return


async def chaotic(tmp_path: Path, seed: int, turns: int) -> list[Envelope]:
    """So many turns with a model that goes wrong as this seed says; every state on the way is legal."""
    echo = EchoTool()
    async with running(tmp_path, [], [echo]) as bench:
        wild = Wild(seed)
        chaos = ChaosClient(WildClient(wild, bench.model), seed, QuickClock())
        bench.use(chaos)

        def go_on(event: Envelope) -> None:
            if isinstance(event.payload, QuestionAsked):
                bench.submit(AnswerQuestion(question_id=event.payload.question_id, answer="", choice=0))

        bench.on_event = go_on
        for turn in range(1, turns + 1):
            bench.submit(SubmitPrompt(text=f"turn {turn}"))
            await bench.until("turn.finished", turn)
            state = bench.recorder.state
            assert state.open_calls == () and state.open_requests == () and not state.turn_running, turn
        assert check_pairs(bench.recorder.messages()) == []
        started = {event.call_id for event in bench.of(ToolStarted)}
        called = {event.call_id: event for event in bench.of(ToolCalled)}
    assert started and all(WHOLE.fullmatch(str(called[call_id].arguments["words"])) for call_id in started)
    assert all(WHOLE.fullmatch(words) for words in echo.ran)
    return bench.events


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_eighty_turns_of_a_chaotic_model_all_end_legally(tmp_path: Path) -> None:
    events = await chaotic(tmp_path, 7, TURNS)
    assert sum(event.payload.kind == "model.retried" for event in events) > 20
