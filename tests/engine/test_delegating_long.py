"""A delegate whose own history outgrows its window, one that goes in circles, and a fork in the midst of one."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import Bench, FakeModel, running, say
from tests.engine.long_histories import PROMPT, of, words
from tests.engine.talks import Talks, rules, spawn, tools, use
from tests.stubs.legal_history import check_pairs
from tui_agent.context.compaction.compaction_settings import CompactionSettings
from tui_agent.context.compaction.summary_text import TITLE
from tui_agent.engine.turns.delegates import LAST_ANSWER_NOTE
from tui_agent.ports.model import ModelChunk, ModelRequest, UsageChunk
from tui_agent.protocol.commands import Interrupt, SubmitPrompt
from tui_agent.protocol.events.agent import AgentFinished
from tui_agent.protocol.events.context import ContextCompacted
from tui_agent.protocol.events.model import ModelRequested
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent, Usage
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

LIMITS = CompactionSettings(prompt=PROMPT, reduce_at=0)
TASK = "Child: find every use of the parser."
MANY = 40


class Investigation(FakeModel):
    """The main agent delegates; the delegate works through its answers; each summary is `story`."""

    def __init__(
        self, answers: Sequence[object], story: Callable[[int], list[ModelChunk]] | None = None
    ) -> None:
        super().__init__([])
        self.main: list[object] = [spawn(TASK, max_tokens=300), say("All done.")]
        self.work = list(answers)
        self.story = story or (lambda number: say(f"Story {number}: read half."))
        self.below: list[ModelRequest] = []
        self.summaries: list[ModelRequest] = []

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelChunk]]:
        self.requests.append(request)
        yield self._chunks(self._answer(request))

    def _answer(self, request: ModelRequest) -> object:
        if request.system == PROMPT:
            self.summaries.append(request)
            return self.story(len(self.summaries))
        if request.system.startswith("You work on one task."):
            self.below.append(request)
            return self.work.pop(0) if self.work else say("Found 40 uses.")
        return self.main.pop(0)


def reads(count: int, names: int = MANY) -> list[object]:
    return [use("read_file", path=f"part{at % names}.txt") for at in range(count)]


def files(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    for at in range(MANY):
        (tmp_path / "workspace" / f"part{at}.txt").write_text(f"part {at}\n" + "use of parser\n" * 150)


@asynccontextmanager
async def delegating(tmp_path: Path, model: FakeModel | Talks, **limits: float) -> AsyncIterator[Bench]:
    files(tmp_path)
    delegation = rules(max_iterations=1_000, **limits)
    async with running(tmp_path, [], tools(), delegation=delegation, shrinking=LIMITS) as bench:
        bench.use(model)
        yield bench


async def done(bench: Bench) -> AgentFinished:
    bench.submit(SubmitPrompt(text="Main: go. Never touch vendor/."))
    await bench.until("turn.finished")
    assert bench.recorder.state.last_turn_end == "finished"
    (ended,) = bench.of(AgentFinished)
    return ended


def report(bench: Bench) -> dict[str, object]:
    (result,) = [one for one in bench.of(ToolFinished) if one.name == "spawn_subtask"]  # type: ignore[attr-defined]
    piece = result.content[0]  # type: ignore[attr-defined]
    assert isinstance(piece, TextContent)
    found = json.loads(str(piece.text))
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
async def test_a_long_investigation_is_summarised_and_keeps_its_task(tmp_path: Path) -> None:
    model = Investigation(reads(MANY))
    async with delegating(tmp_path, model) as bench:
        ended = await done(bench)
        made = [one for one in bench.events if isinstance(one.payload, ContextCompacted)]
        assert len(made) >= 2 and {one.agent for one in made} == {"subtask-1"}
        assert len(model.below) == MANY + 1
        for request in model.below:
            assert not check_pairs(request.messages) and TASK in of(request)
            assert len(of(request)) < 40_000 and "vendor" not in of(request)
        last = words(model.below[-1].messages[0])
        assert last.startswith(TITLE) and f"Story {len(made)}" in last
        assert report(bench)["summary"] == "Found 40 uses." and ended.success
        assert "part 1" not in of(model.requests[-1]) and TITLE not in of(model.requests[-1])


async def test_a_summary_below_has_its_own_room_and_counts_for_the_delegate(tmp_path: Path) -> None:
    def story(number: int) -> list[ModelChunk]:
        return [UsageChunk(Usage(input_tokens=100, output_tokens=10), 0.5), *say("The story.")]

    model = Investigation(reads(20), story)
    async with delegating(tmp_path, model) as bench:
        ended = await done(bench)
        assert model.summaries and all(one.max_tokens > 300 for one in model.summaries)
        assert ended.model_calls == len(model.below) + len(model.summaries)
        assert ended.cost_usd == 0.5 * len(model.summaries)
        asked = [one.payload for one in bench.events if isinstance(one.payload, ModelRequested)]
        assert {one.summarises for one in asked if one.purpose == "compaction"} == {"subtask-1"}


@pytest.mark.slow
async def test_the_word_before_the_last_answer_is_not_said_to_the_summary(tmp_path: Path) -> None:
    files(tmp_path)
    for limit in range(14, 24):
        model = Investigation(reads(40))
        session = f"ses_{limit}"
        async with running(
            tmp_path, [], tools(), session=session, delegation=rules(max_iterations=limit), shrinking=LIMITS
        ) as bench:
            bench.use(model)
            await done(bench)
            last = model.below[-1].messages[-1]
            assert (
                isinstance(last, UserMessage)
                and last.origin == "transient"
                and LAST_ANSWER_NOTE in words(last)
            )
            assert model.summaries and all(LAST_ANSWER_NOTE not in of(one) for one in model.summaries)


@pytest.mark.slow
async def test_a_delegate_that_forgets_and_begins_again_ends_as_failed(tmp_path: Path) -> None:
    model = Investigation(reads(1_000, names=17))
    async with delegating(tmp_path, model) as bench:
        ended = await done(bench)
        assert (ended.success, ended.reason) == (False, "failed")
        assert "the same calls" in str(report(bench)["summary"]) and len(model.below) < 100


async def test_one_stopped_while_it_is_summarised_reports_and_the_other_agent_goes_on(tmp_path: Path) -> None:
    model = Investigation(reads(MANY), lambda number: [anyio.sleep_forever])  # type: ignore[list-item]
    async with delegating(tmp_path, model) as bench:
        bench.submit(SubmitPrompt(text="Main: go"))
        while not model.summaries:
            await bench.until("model.requested", bench.kinds().count("model.requested") + 1)
        bench.submit(Interrupt(scope="agent", agent=AgentId("subtask-1")))
        await bench.until("turn.finished")
        assert bench.recorder.state.last_turn_end == "finished"
        assert report(bench)["reason"] == "interrupted" and not bench.of(ContextCompacted)
        assert not bench.recorder.state.open_requests
        assert not check_pairs(bench.recorder.messages())


async def test_the_time_of_a_delegate_is_up_while_it_is_summarised(tmp_path: Path) -> None:
    model = Investigation(reads(MANY), lambda number: [anyio.sleep_forever])  # type: ignore[list-item]
    async with delegating(tmp_path, model, timeout_seconds=2) as bench:
        ended = await done(bench)
        assert ended.reason == "budget" and "it reached its time limit" in str(report(bench)["summary"])
        assert not bench.recorder.state.open_requests


@pytest.mark.slow
async def test_a_fork_in_the_midst_of_a_delegation_goes_on_legally(tmp_path: Path) -> None:
    child = [use("write_file", path="a.txt", content="a"), *reads(16), say("Wrote it.")]
    model = Investigation(child)
    async with delegating(tmp_path, model) as bench:
        await done(bench)
        last = bench.recorder.state.seq
        inside = [one.seq for one in bench.events if one.agent == "subtask-1"]
        summed = next(one.seq for one in bench.events if isinstance(one.payload, ContextCompacted))
    store = SessionStore(tmp_path / "sessions", SystemClock(), Redactor())
    for seq in (inside[0], inside[len(inside) // 2], summed, summed - 1, inside[-1], last):
        name = f"ses_fork{seq}"
        store.fork("ses_test", seq, name)
        again = Investigation([])
        again.main = [say("I go on.")]
        async with running(
            tmp_path, [], tools(), session=name, delegation=rules(), shrinking=LIMITS
        ) as bench:
            bench.use(again)
            state = bench.recorder.state
            assert not state.open_calls and not state.open_requests and not state.delegates, seq
            bench.submit(SubmitPrompt(text="Main: and now?"))
            await bench.until("turn.finished", bench.kinds().count("turn.finished") + 1)
            assert bench.recorder.state.last_turn_end == "finished", seq
            assert not check_pairs(again.requests[-1].messages), seq
            assert "part 1" not in of(again.requests[-1]), seq
