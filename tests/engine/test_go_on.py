"""Going on without a new message: behind results, behind a message without an answer, after an interruption."""

from collections.abc import Sequence
from pathlib import Path

import anyio

from tests.engine.harness import Bench, EchoTool, call, running, say
from tests.stubs.strict_history import faults_in
from tui_agent.folds.comparison.divergence import split_turns
from tui_agent.folds.context.model_messages import CONTINUED, CRASHED
from tui_agent.folds.session.unfinished_work import PROGRAM_CLOSED
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.folds.trace.timeline import build_timeline
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.ports.model import ModelChunk, ModelFault
from tui_agent.protocol.commands import (
    Close,
    ContinueTurn,
    Interrupt,
    Redo,
    RunUserShell,
    SetBudgets,
    SubmitPrompt,
    Undo,
)
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.protocol.messages import ToolMessage, UserMessage
from tui_agent.protocol.settings import Budgets

ECHO = ("echo", '{"words": "x"}')


def fault() -> list[ModelChunk]:
    return [ModelFault("auth", "no key")]


async def turn(bench: Bench, command: SubmitPrompt | ContinueTurn) -> TurnFinished:
    """A command that begins a turn, to that turn's end."""
    ended = bench.kinds().count("turn.finished")
    bench.submit(command)
    return await bench.until_payload(TurnFinished, ended + 1)


async def refused(bench: Bench) -> str:
    """Why a `ContinueTurn` is refused."""
    count = bench.kinds().count("command.rejected")
    bench.submit(ContinueTurn())
    rejected = await bench.until_payload(CommandRejected, count + 1)
    assert rejected.command == "continue_turn"
    return rejected.reason


async def done(bench: Bench, command: Undo | Redo | RunUserShell) -> None:
    """A command that keeps the engine for a while, to its end."""
    count = bench.kinds().count("agent.state_changed")
    bench.submit(command)
    await bench.until("agent.state_changed", count + 2)


def legal(bench: Bench) -> None:
    for request in bench.model.requests:
        assert faults_in(request.messages) == []


def words(message: object) -> str:
    assert isinstance(message, UserMessage)
    return str(message.content[0].text)  # type: ignore[union-attr]


async def test_it_goes_on_behind_results_where_a_limit_stopped_it(tmp_path: Path) -> None:
    limit = Budgets(max_iterations=1)
    async with running(tmp_path, [call(ECHO), say("Done.")], [EchoTool()], budgets=limit) as bench:
        assert (await turn(bench, SubmitPrompt(text="go"))).reason == "iteration_limit"
        bench.submit(SetBudgets(budgets=Budgets()))
        assert (await turn(bench, ContinueTurn())).reason == "finished"
        assert isinstance(bench.model.requests[-1].messages[-1], ToolMessage)
        assert bench.kinds().count("user.message") == 1
        assert [one.is_continuation for one in bench.of(TurnStarted)] == [
            False,
            True,
        ]
        assert await refused(bench) == "The agent has answered; there is nothing to continue."
        legal(bench)


async def test_it_goes_on_behind_a_message_that_got_no_answer(tmp_path: Path) -> None:
    async with running(tmp_path, [fault(), say("Hello."), say("I see.")]) as bench:
        assert await refused(bench) == "There is nothing to continue yet."
        assert (await turn(bench, SubmitPrompt(text="hi"))).reason == "model_error"
        assert (await turn(bench, ContinueTurn())).reason == "finished"
        assert words(bench.model.requests[-1].messages[-1]) == "hi"
        await done(bench, RunUserShell(command="echo there"))
        assert (await turn(bench, ContinueTurn())).reason == "finished"
        assert "there" in words(bench.model.requests[-1].messages[-1])
        legal(bench)


async def test_it_goes_on_where_the_user_had_stopped_it_and_says_so(tmp_path: Path) -> None:
    stopped = anyio.Event()

    async def stop() -> None:
        stopped.set()
        await anyio.sleep_forever()

    from_here: Sequence[object] = [[*say("Half an")[:1], stop], say("All of it.")]
    async with running(tmp_path, from_here) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await stopped.wait()
        assert await refused(bench) == "A turn is running. The agent can continue afterwards."
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        assert (await turn(bench, ContinueTurn())).reason == "finished"
        assert words(bench.model.requests[-1].messages[-1]) == CONTINUED
        legal(bench)


async def test_after_a_crash_in_a_turn_it_goes_on_from_what_was_left(tmp_path: Path) -> None:
    broke = anyio.Event()
    tool = EchoTool(before=lambda _: broke.set())

    async def hang() -> None:
        await anyio.sleep_forever()

    async with running(tmp_path, [call(ECHO), [hang]], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await broke.wait()
        await bench.until("model.requested", 2)
    async with running(tmp_path, [say("Done.")], [tool]) as bench:
        assert (await turn(bench, ContinueTurn())).reason == "finished"
        assert words(bench.model.requests[-1].messages[-1]) == CRASHED
        legal(bench)


async def test_the_model_is_told_that_the_program_was_closed_in_a_turn(tmp_path: Path) -> None:
    async def hang() -> None:
        await anyio.sleep_forever()

    async with running(tmp_path, [[hang]]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("model.requested")
        bench.submit(Close(reason="signal"))
        await bench.until("turn.finished")
        assert [end.detail for end in bench.of(TurnFinished)] == [PROGRAM_CLOSED]
    async with running(tmp_path, [say("Done.")]) as bench:
        await turn(bench, SubmitPrompt(text="again"))
        told = [words(message) for message in bench.model.requests[-1].messages]
        assert told[-2:] == [CRASHED, "again"]


async def test_a_turn_without_a_message_counts_in_every_fold_and_can_be_taken_back(tmp_path: Path) -> None:
    async with running(tmp_path, [fault(), say("Hello."), say("Again.")]) as bench:
        await turn(bench, SubmitPrompt(text="hi"))
        await turn(bench, ContinueTurn())
        records = bench.events
        begun = [records[place].payload.kind for place in build_timeline(records).turns]
        assert begun == ["user.message", "turn.started"]
        told, rest = split_turns(records)
        assert [one.message is None for one in told] == [False, True]
        assert not any(isinstance(one.payload, TurnStarted) for one in rest)
        metrics, transcript = Metrics(), Transcript()
        for event in bench.events:
            metrics.apply(event)
            transcript.apply(event)
        assert metrics.view().turns == 2
        assert [entry.turn for entry in transcript.view().entries] == [1, 1, 1, 2, 2, 2]
        await done(bench, Undo())
        assert len(bench.recorder.messages()) == 1
        await done(bench, Redo())
        assert len(bench.recorder.messages()) == 2


async def test_the_turns_of_a_session_are_counted_against_their_limit(tmp_path: Path) -> None:
    async with running(tmp_path, [fault(), say("Hello.")], budgets=Budgets(max_turns=1)) as bench:
        await turn(bench, SubmitPrompt(text="hi"))
        assert await refused(bench) == "This session has reached its limit of one turn."
