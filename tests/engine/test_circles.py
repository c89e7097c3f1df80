"""An agent that makes the same calls each time its context was made smaller: stopped, said, and gone on from."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tests.engine.harness import Words, call, running, say
from tests.engine.long_histories import (
    LIMITS,
    ONLY_SUMMARIES,
    TASK,
    Output,
    Worker,
    compactions,
    model_of,
    task_of,
    turn,
    until,
)
from tests.stubs.legal_history import check_pairs
from tui_agent.context.compaction.compaction_settings import CompactionSettings
from tui_agent.engine.compaction.circuit_breaker import MIN_REQUESTS_BETWEEN, TIGHT_HINT
from tui_agent.engine.compaction.compactor import LOOP_HINT, LOOP_MESSAGE
from tui_agent.engine.compaction.loop_detector import MAX_SAME_CALLS
from tui_agent.ports.tool import ToolContext, ToolResult
from tui_agent.protocol.commands import ContinueTurn, SetBudgets, Steer, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextCompacted, ContextPacked, ContextReduced, ContextStuck
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import Budgets

ROUND = tuple("abcdefgh")
FAR = 400
"""Requests that a circle would go on for."""


def asks_for(names: Sequence[str], count: int) -> list[object]:
    """Answers that call the tool with these words in turn."""
    return [call(("output", f'{{"words":"{names[at % len(names)]}"}}')) for at in range(count)]


class Clocked(Output):
    """Gives another output each time."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        self.count += 1
        text = f"{self.count} s: " + "word " * 400
        return ToolResult(ok=True, content=(TextContent(text=text),))


@pytest.mark.slow
async def test_the_same_calls_after_each_summary_end_the_turn_and_a_message_goes_on(tmp_path: Path) -> None:
    for name, limits in (("summaries", ONLY_SUMMARIES), ("lines", LIMITS)):
        folder = tmp_path / name
        folder.mkdir()
        model = Worker(asks_for(ROUND, FAR))
        async with running(folder, [], [Output()], shrinking=limits) as bench:
            bench.use(model)
            await turn(bench, TASK)
            (end,) = bench.of(TurnFinished)
            assert end.reason == "stuck", name
            assert end.detail == f"{LOOP_MESSAGE} {LOOP_HINT}", name
            assert len(model.requests) < 60 and len(compactions(bench)) <= 4, name
            model.work = [say("I see.")]
            await turn(bench, "Look at the grammar instead.", 2)
            assert bench.recorder.state.last_turn_end == "finished", name
            assert not check_pairs(model.asked[-1].messages), name


@pytest.mark.slow
async def test_a_circle_goes_on_over_runs_and_turns_without_new_words(tmp_path: Path) -> None:
    for name, limits in (("summaries", ONLY_SUMMARIES), ("lines", LIMITS)):
        folder, model = tmp_path / name, Worker(asks_for(ROUND, FAR))
        folder.mkdir()
        for runs in range(1, 12):
            few = Budgets(max_iterations=(len(ROUND) + 4) * runs)
            async with running(folder, [], [Output()], shrinking=limits) as bench:
                bench.submit(SetBudgets(budgets=few))
                bench.use(model)
                told = bench.kinds().count("turn.finished")
                bench.submit(SubmitPrompt(text=TASK) if runs == 1 else ContinueTurn())
                await bench.until("turn.finished", told + 1)
                ended = bench.recorder.state.last_turn_end
            if ended == "stuck":
                break
        assert ended == "stuck" and runs > 2, name
        assert len(model.asked) < 70, name


async def test_summaries_are_as_far_apart_in_a_later_run(tmp_path: Path) -> None:
    """The task leaves little room for work beside it."""
    model = Worker([call(("output", f'{{"words":"new {at}"}}')) for at in range(FAR)])
    for runs in range(4):
        few = Budgets(max_iterations=6 * (runs + 1))
        async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
            bench.submit(SetBudgets(budgets=few))
            model_of(bench, model, 9_000)
            told = bench.kinds().count("turn.finished")
            bench.submit(SubmitPrompt(text=task_of(280)) if runs == 0 else ContinueTurn())
            await bench.until("turn.finished", told + 1)
            all_of_it = [one.payload for one in bench.recorder.records_after(-1) if isinstance(one, Envelope)]
    requests, at = 0, list[int]()
    for one in all_of_it:
        requests += isinstance(one, ContextPacked)
        at += [requests] if isinstance(one, ContextCompacted) else []
    assert len(at) > 1 and min(b - a for a, b in pairwise(at)) >= MIN_REQUESTS_BETWEEN, at
    assert sum(isinstance(one, ContextStuck) and one.hint == TIGHT_HINT for one in all_of_it) == 1


@pytest.mark.slow
async def test_calls_whose_results_differ_are_let_go_on_longer(tmp_path: Path) -> None:
    model = Worker(asks_for(ROUND, FAR))
    async with running(tmp_path, [], [Clocked()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        assert bench.recorder.state.last_turn_end == "stuck"
        assert len(compactions(bench)) == MAX_SAME_CALLS - 1


@pytest.mark.slow
async def test_one_new_call_between_two_summaries_is_no_circle(tmp_path: Path) -> None:
    for limits in (ONLY_SUMMARIES, LIMITS, CompactionSettings(prompt=LIMITS.prompt, compact_at=0)):
        folder = tmp_path / str(limits.compact_at + limits.reduce_at)
        folder.mkdir()
        answers = asks_for(ROUND, 100)
        answers[::5] = [call(("output", f'{{"words":"new {at}"}}')) for at in range(20)]
        model = Worker([*answers, say("done")])
        async with running(folder, [], [Output()], shrinking=limits) as bench:
            bench.use(model)
            await turn(bench, TASK)
            assert bench.recorder.state.last_turn_end == "finished"
            assert len(compactions(bench)) + len(bench.of(ContextReduced)) >= 4


@pytest.mark.slow
async def test_a_users_new_words_begin_the_count_anew(tmp_path: Path) -> None:
    model = Worker(asks_for(ROUND, FAR))
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:

        async def speak() -> None:
            bench.submit(Steer(text="Read them all again."))
            await until(lambda: "user.steered" in bench.kinds())

        bench.use(model)
        model.summary = lambda number: [*([speak] if number == 2 else []), *say(f"Story {number}.")]  # type: ignore[list-item]
        await turn(bench, TASK)
        assert bench.recorder.state.last_turn_end == "stuck"
        assert len(compactions(bench)) == 4
