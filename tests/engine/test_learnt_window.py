"""A model whose window nobody knows: what its provider refuses and takes is its window, for whoever asks it in this log."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.engine.harness import MODEL, Bench, running, say
from tests.engine.long_histories import (
    LIMITS,
    Output,
    Small,
    compactions,
    cuts,
    manifests,
    model_of,
    seen,
    stuck,
    task_of,
    turn,
    work,
)
from tests.engine.talks import rules, spawn, tools
from tui_agent.engine.tools.large_results import result_limit
from tui_agent.models.provider_faults import from_status
from tui_agent.plugin_api import BaseMiddleware
from tui_agent.ports.middleware import Fragment
from tui_agent.ports.model import ModelRequest
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.events.context import ContextWindowInferred
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

TASK = 270
"""Requirements of the task: about 23,500 characters."""


def learnt(bench: Bench) -> list[ContextWindowInferred]:
    return bench.of(ContextWindowInferred)


def whole(requests: Iterable[ModelRequest], count: int) -> bool:
    return {seen(one, r"REQ_\d+_") for one in requests} == {count}


@pytest.mark.parametrize(
    ("window", "most"),
    [
        (0, 40_000),
        (0, 25_800),
        (8_000, 32_000),
        *(
            pytest.param(*sizes, marks=pytest.mark.slow)
            for sizes in ((0, 33_000), (0, 28_000), (0, 27_000), (10_000, 40_000))
        ),
    ],
)
async def test_a_task_that_nearly_fills_the_window_stays_whole_and_is_not_summarised_at_each_step(
    tmp_path: Path, window: int, most: int
) -> None:
    """`most` characters are taken; a known window is as large."""
    worker = Small(most, [*work(30), say("done")])
    async with running(tmp_path, [], [Output(3_000)], shrinking=LIMITS) as bench:
        model_of(bench, worker, window)
        await turn(bench, task_of(TASK))
        assert bench.recorder.state.last_turn_end == "finished"
        assert (
            whole(worker.took, TASK)
            and not cuts(bench)
            and not any(one.truncations for one in compactions(bench))
        )
        assert len(worker.summaries) <= 5 and len(worker.refused) <= 4
        assert len(stuck(bench)) <= 1 and len(learnt(bench)) <= 2


@pytest.mark.slow
async def test_that_little_room_is_left_is_told_once_and_what_fills_it(tmp_path: Path) -> None:
    worker = Small(28_000, [*work(30), say("done"), *work(20), say("done")])
    async with running(tmp_path, [], [Output(3_000)], shrinking=LIMITS) as bench:
        model_of(bench, worker, 0)
        await turn(bench, task_of(TASK))
        await turn(bench, "Go on.", 2)
        (told,) = stuck(bench)
        assert told.automatic and "your messages" in told.message and "/model" in told.hint


async def test_what_does_not_fit_at_all_ends_the_turn_and_says_what_fills_the_window(tmp_path: Path) -> None:
    worker = Small(150, [*work(30), say("done")])
    async with running(tmp_path, [], [Output(3_000)], shrinking=LIMITS) as bench:
        model_of(bench, worker, 0)
        await turn(bench, "Do it. " * 20)
        (end,) = bench.of(TurnFinished)
        assert end.reason == "model_error"
        assert "your messages" in end.detail and "the tools" in end.detail and "@path" in end.detail
        assert len(worker.refused) <= 6


@pytest.mark.slow
async def test_a_later_run_and_a_fork_know_the_window_without_a_refusal_of_their_own(tmp_path: Path) -> None:
    first = Small(40_000, [*work(20), say("done")])
    async with running(tmp_path, [], [Output(3_000)], shrinking=LIMITS) as bench:
        model_of(bench, first, 0)
        await turn(bench, "Do it.")
        (made,) = learnt(bench)
        assert first.refused and made.refused_tokens > made.window > 0 and not made.stated_by_provider
        last = bench.recorder.state.seq
    SessionStore(tmp_path / "sessions", SystemClock(), Redactor()).fork("ses_test", last, "ses_fork")
    for session in ("ses_test", "ses_fork"):
        again = Small(40_000, [*work(20), say("done")])
        async with running(tmp_path, [], [Output(3_000)], session=session, shrinking=LIMITS) as bench:
            bench.use(again)
            assert bench.recorder.meter.window_inferred and bench.recorder.meter.window >= made.window
            await turn(bench, "Go on.")
            assert not again.refused and not learnt(bench)
            assert all(one.window_inferred and one.window >= made.window for one in manifests(bench))


@pytest.mark.slow
async def test_a_delegate_of_the_same_model_knows_it_too(tmp_path: Path) -> None:
    class Both(Small):
        def stream(self, request: ModelRequest) -> object:
            self.below += [request] if request.system.startswith("You work on one task.") else []
            return super().stream(request)

        below: list[ModelRequest]

    worker = Both(
        40_000,
        [*work(20), spawn("Child: read on.", allowed_tools=["output"]), *work(20), say("found"), say("done")],
    )
    worker.below = []
    all_tools = [Output(3_000), *tools()]
    async with running(tmp_path, [], all_tools, shrinking=LIMITS, delegation=rules()) as bench:
        model_of(bench, worker, 0)
        await turn(bench, "Do it.")
        assert bench.recorder.state.last_turn_end == "finished" and len(worker.below) > 20
        sent = bench.of(AgentSpawned)[0]
        kinds = bench.kinds()
        assert "model.failed" not in kinds[kinds.index(sent.kind) :]


async def test_what_the_provider_says_it_holds_is_the_window(tmp_path: Path) -> None:
    said = "This model's maximum context length is 10000 tokens. However, your messages resulted in 12000 tokens."

    class Saying(Small):
        def fault(self) -> object:
            return [from_status(400, said, {}, now=0)]

    worker = Saying(40_000, [*work(30), say("done")])
    async with running(tmp_path, [], [Output(3_000)], shrinking=LIMITS) as bench:
        model_of(bench, worker, 0)
        await turn(bench, "Do it.")
        (made,) = learnt(bench)
        assert made.stated_by_provider and made.window == 10_000 and len(worker.refused) == 1
        assert bench.recorder.meter.window == 10_000 and bench.recorder.meter.window_inferred


async def test_a_single_result_takes_its_share_of_the_learnt_window(tmp_path: Path) -> None:
    worker = Small(40_000, [*work(20), say("done"), *work(1), say("done")])
    output = Output(3_000)
    async with running(tmp_path, [], [output], shrinking=LIMITS) as bench:
        model_of(bench, worker, 0)
        await turn(bench, "Do it.")
        output.chars = 20_000
        await turn(bench, "Once more.", 2)
        end = bench.of(ToolFinished)[-1]
        window = bench.recorder.windows.effective_window(MODEL.model_copy(update={"window": 0}))
        assert end.artifact is not None and end.artifact.preview_size < result_limit(window) + 400 < 8_000


class Tools(BaseMiddleware):
    """Instructions that fill a window by themselves."""

    name = "tools"

    def contribute(self, state: object) -> tuple[Fragment, ...]:
        return (Fragment("identity", "You are careful. " * 400),)


async def test_where_the_prompt_fills_the_window_no_other_message_is_advised(tmp_path: Path) -> None:
    worker = Small(3_000, [*work(3), say("done")])
    async with running(tmp_path, [], [Output(100)], shrinking=LIMITS, middlewares=[Tools()]) as bench:
        model_of(bench, worker, 0)
        await turn(bench, task_of(60))
        (end,) = bench.of(TurnFinished)
        assert "the system prompt 1.7k tokens" in end.detail
        assert "@path" not in end.detail and "/model" in end.detail
