"""The limits of a session and of a turn: which one ends a turn, and in which words."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tests.engine import harness
from tests.engine.harness import EchoTool, QuickClock, call, running, say
from tests.stubs.story import MODEL, Story
from tui_agent.engine.budget_limits import reached_limit
from tui_agent.folds.projection import fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.ports.model import ModelFault, TextChunk
from tui_agent.protocol.commands import Interrupt, SubmitPrompt
from tui_agent.protocol.events.model import ModelFailed, ModelRequested
from tui_agent.protocol.events.session import CommandRejected, SessionStarted
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import AgentState, Budgets, BudgetUse, SessionSettings

PRICED = harness.MODEL.model_copy(update={"input_price": 1.0, "output_price": 4.0})


async def test_a_limit_of_parts_ends_the_turn_before_the_next_model_call(tmp_path: Path) -> None:
    answers = [call(("echo", "{}"), text="One.")] * 3
    async with running(tmp_path, answers, [EchoTool()], budgets=Budgets(max_parts=3)) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until_payload(TurnFinished)
    assert end.reason == "part_limit"
    state = bench.recorder.state
    assert (state.parts, state.agent_state, state.state_reason) == (3, AgentState.STOPPED, "part_limit")


@pytest.mark.parametrize(
    ("budgets", "said"),
    [
        (
            Budgets(max_iterations=1),
            "Stopped at 1 iteration, the limit of this session. --max-iterations raises it.",
        ),
        (
            Budgets(max_iterations=2),
            "Stopped at 2 iterations, the limit of this session. --max-iterations raises it.",
        ),
        (
            Budgets(max_parts=1),
            "Stopped at 1 message part, the limit of this session. --max-parts raises it.",
        ),
    ],
)
async def test_a_limit_is_named_in_the_number_that_it_is(tmp_path: Path, budgets: Budgets, said: str) -> None:
    async with running(tmp_path, [call(("echo", "{}"))] * 3, [EchoTool()], budgets=budgets) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until_payload(TurnFinished)
    assert end.detail == said


def test_a_cost_limit_is_named_beside_the_cost() -> None:
    settings = SessionSettings(model=MODEL, budgets=Budgets(max_cost_usd=0.05))
    state = fold(SessionState(), [Story()(SessionStarted(workspace="/w", product="p", settings=settings))])
    reached = reached_limit(replace(state, used=BudgetUse(cost_usd=0.063)))
    words = "Stopped at $0.063; the limit of this session is $0.050. /cost raises it."
    assert reached == ("cost_limit", words)
    reached = reached_limit(replace(state, used=BudgetUse(cost_usd=0.063, cost_precision="partial")))
    assert reached == ("cost_limit", words.replace("$0.063", "≥ $0.063"))


async def test_a_stopped_request_has_an_estimated_cost_that_counts_toward_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "MODEL", PRICED)
    streaming = anyio.Event()

    async def hang() -> None:
        streaming.set()
        await anyio.sleep_forever()

    answers = [[TextChunk("A long answer. " * 40), hang], say("Done.")]
    async with running(tmp_path, answers, budgets=Budgets(max_cost_usd=0.0006)) as bench:
        bench.submit(SubmitPrompt(text="go " * 400))
        await streaming.wait()
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        [failed] = bench.of(ModelFailed)
        sent = bench.of(ModelRequested)[0].estimated_tokens
        assert failed.usage == Usage(input_tokens=sent, output_tokens=150, estimated=True)
        assert failed.cost_usd == pytest.approx((sent * 1.0 + 150 * 4.0) / 1e6)
        state = bench.recorder.state
        assert (state.used.cost_usd, state.cost_precision) == (failed.cost_usd, "estimated")
        bench.submit(SubmitPrompt(text="again"))
        await bench.until("turn.finished", 2)
        end = bench.of(TurnFinished)[-1]
    assert end.reason == "cost_limit" and end.detail.startswith("Stopped at ~$0.00")


async def test_a_request_that_was_never_answered_before_the_stop_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "MODEL", PRICED)
    waiting = anyio.Event()

    class Stuck(QuickClock):
        async def sleep(self, seconds: float) -> None:
            waiting.set()
            await anyio.sleep_forever()

    async with running(tmp_path, [[ModelFault("rate_limit", "busy")]], clock=Stuck()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await waiting.wait()
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        [failed] = bench.of(ModelFailed)
    assert (failed.usage, failed.cost_usd, failed.cost_precision) == (Usage(), 0.0, "exact")


async def test_limits_of_iterations_and_time_end_the_turn_with_their_reasons(tmp_path: Path) -> None:
    answers = [call(("echo", "{}"))] * 5
    async with running(tmp_path, answers, [EchoTool()], budgets=Budgets(max_iterations=2)) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until("turn.finished")
    assert isinstance(end.payload, TurnFinished) and end.payload.reason == "iteration_limit"
    assert len(bench.model.requests) == 2

    async with running(
        tmp_path, [[anyio.sleep_forever]], session="ses_time", budgets=Budgets(timeout_seconds=0.05)
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until("turn.finished")
    assert isinstance(end.payload, TurnFinished) and end.payload.reason == "time_limit"


async def test_a_limit_of_the_turn_counts_only_without_one_of_the_session(tmp_path: Path) -> None:
    async with running(tmp_path, [[anyio.sleep_forever]], turn_seconds=0.05) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until("turn.finished")
    said = "Stopped after 0.05 s, the limit of a turn outside the app. --timeout-seconds raises it."
    assert isinstance(end.payload, TurnFinished)
    assert (end.payload.reason, end.payload.detail) == ("time_limit", said)
    async with running(
        tmp_path,
        [call(("echo", "{}"))] * 2,
        [EchoTool()],
        session="ses_longer",
        budgets=Budgets(timeout_seconds=100, max_iterations=1),
        turn_seconds=0.0,
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until("turn.finished")
    assert isinstance(end.payload, TurnFinished) and end.payload.reason == "iteration_limit"


async def test_a_message_longer_than_any_context_window_is_refused_with_the_limit(tmp_path: Path) -> None:
    async with running(tmp_path, [], []) as bench:
        bench.submit(SubmitPrompt(text="x" * 4_000_001))
        refused = await bench.until_payload(CommandRejected)
    assert refused.reason == "The message is too long."
    assert "It has 4,000,001 characters; a message can have at most 4,000,000." in refused.hint
