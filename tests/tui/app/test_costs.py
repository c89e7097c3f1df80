"""The cost of a session in the header and in `/cost`: unknown, estimated, limited and undone."""

import pytest

from tests.stubs.story import requested
from tests.tui.app.driving import open_app
from tests.tui.app.turns_story import begun, turn
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.session import SessionHeadMoved, SettingsChanged
from tui_agent.protocol.events.turn import IterationStarted, TurnFinished, TurnStarted
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import Budgets, BudgetUse


async def test_a_sum_with_an_unknown_or_estimated_cost_is_marked() -> None:
    async with open_app(session=begun(), size=(120, 40)) as driven:
        turn(driven, 1, "the first thing", "one", cost=1.05)
        usage = Usage(input_tokens=1_000, output_tokens=10, estimated=True)
        request = RequestId("req_stopped")
        driven.session.feed(
            TurnStarted(turn=2),
            IterationStarted(iteration=2, local_iteration=1),
            requested(request),
            ModelFailed(request_id=request, fault="cancelled", message="", usage=usage, cost_usd=0.2),
            TurnFinished(turn=2, reason="interrupted", duration_ms=5.0),
        )
        await driven.settle()
        assert "~$1.25" in driven.rows()[0]
        await driven.type("/cost")
        await driven.press("escape", "enter")
        shown = [" ".join(row.split()) for row in driven.rows()]
        for row in ("session ~$1.25", "last turn ~$0.200", "turn 2 ~$0.200", "~ marks"):
            assert any(row in text for text in shown), row
        await driven.press("escape")
        turn(driven, 3, "the third thing", "three", cost=None)
        await driven.settle()
        assert "≥ $1.25" in driven.rows()[0]
        await driven.type("/cost")
        await driven.press("escape", "enter")
        shown = [" ".join(row.split()) for row in driven.rows()]
        for row in ("session at least $1.25", "last turn not known", "session ≥ $1.25"):
            assert any(row in text for text in shown), row


@pytest.mark.slow
async def test_after_a_raised_cost_limit_the_status_is_ready_again() -> None:
    async with open_app(session=begun(), size=(120, 40)) as driven:

        def limit(usd: float) -> None:
            budgets = Budgets(max_cost_usd=usd).model_dump(mode="json")
            driven.session.feed(SettingsChanged(key="budgets", previous=None, value=budgets))

        limit(1.0)
        turn(driven, 1, "the first thing", "one", cost=1.05)
        driven.session.feed(TurnStarted(turn=2), TurnFinished(turn=2, reason="cost_limit", duration_ms=5.0))
        await driven.settle()
        assert driven.app.status.view.word == "cost limit reached"
        limit(5.0)
        await driven.settle()
        assert (driven.app.status.view.mood, driven.app.status.view.word) == ("ready", "ready")
        limit(1.01)
        await driven.settle()
        assert driven.app.status.view.word == "cost limit reached"


async def test_the_cost_of_undone_turns_is_still_counted() -> None:
    async with open_app(session=begun(), size=(120, 40)) as driven:
        turn(driven, 1, "the first thing", "one", cost=1.05)
        second = turn(driven, 2, "the second thing", "two", cost=1.05)
        end = len(driven.session.records) - 1
        used = BudgetUse(turns=2, cost_usd=2.1, input_tokens=2000, output_tokens=20)
        driven.session.feed(SessionHeadMoved(to_seq=second - 1, from_seq=end, reason="undo", used=used))
        await driven.settle()
        assert "$2.10" in driven.rows()[0]
        turn(driven, 3, "the third thing", "three", cost=1.05)
        last = len(driven.session.records)
        driven.session.feed(TurnStarted(turn=4), TurnFinished(turn=4, reason="cost_limit", duration_ms=5.0))
        await driven.settle()
        assert "$3.15" in driven.rows()[0]
        await driven.type("/cost")
        await driven.press("escape", "enter")
        shown = [" ".join(row.split()) for row in driven.rows()]
        for row in (
            "session $3.15",
            "last turn $0.000",
            "turn 4 $0.000 0 0 0",
            "undone $1.05 1.0k 10",
            "session $3.15 3.0k 30",
        ):
            assert any(row in text for text in shown), row
        await driven.press("escape")
        used = BudgetUse(turns=3, cost_usd=3.15, input_tokens=3000, output_tokens=30)
        driven.session.feed(SessionHeadMoved(to_seq=end, from_seq=last, reason="redo", used=used))
        await driven.settle()
        assert "$3.15" in driven.rows()[0]
        await driven.type("/trace")
        await driven.press("escape", "enter")
        await driven.until(lambda: any("2 turns   $3.15" in row for row in driven.rows()))


async def test_a_session_whose_turns_were_all_undone_has_no_last_turn() -> None:
    async with open_app(session=begun(), size=(120, 40)) as driven:
        first = turn(driven, 1, "the first thing", "one", cost=1.05)
        end = len(driven.session.records) - 1
        used = BudgetUse(turns=1, cost_usd=1.05, input_tokens=1000, output_tokens=10)
        driven.session.feed(SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo", used=used))
        await driven.settle()
        await driven.type("/cost")
        await driven.press("escape", "enter")
        shown = " ".join(driven.text().split())
        assert "session $1.05" in shown and "last turn $" not in shown


async def test_tokens_of_undone_turns_are_counted_without_a_price_and_without_another_turn() -> None:
    async with open_app(session=begun(), size=(120, 40)) as driven:
        first = turn(driven, 1, "the first thing", "one", cost=1.05)
        end = len(driven.session.records) - 1
        used = BudgetUse(turns=1, input_tokens=33_000, cached_tokens=2_000, output_tokens=40)
        driven.session.feed(SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo", used=used))
        await driven.settle()
        await driven.type("/cost")
        await driven.press("escape", "enter")
        shown = [" ".join(row.split()) for row in driven.rows()]
        for row in ("undone 33.0k 40", "session 33.0k 40", "The price of this model is not known."):
            assert any(row in text for text in shown), row
        assert not any("Nothing spent yet" in text for text in shown)
        await driven.press("escape")
        await driven.type("/status")
        await driven.press("escape", "enter")
        assert any("cost not known" in " ".join(row.split()) for row in driven.rows())
        await driven.press("escape")
        await driven.type("/doctor")
        await driven.press("escape", "enter")
        await driven.press("G")
        assert any("33.0k in (2.0k cached), 40 out" in row for row in driven.rows()), driven.text()
