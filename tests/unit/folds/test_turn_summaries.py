"""What a fresh session is told of an earlier one: every turn, the newest in most detail, never too much."""

from dataclasses import replace

import pytest

from tests.stubs.golden import golden
from tests.stubs.story import Story, file_changed, ran_tests, requested, responded
from tui_agent.folds.context.turn_summaries import (
    MAX_BYTES,
    MAX_CHARS,
    TurnSummaries,
    TurnSummariesView,
    TurnSummary,
    summary_text,
)
from tui_agent.folds.projection import current_branch, fold
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.session import SessionContextLoaded
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.turn import (
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import RequestId, SessionId


def told(*payloads: Payload) -> TurnSummariesView:
    story, summaries = Story(), TurnSummaries()
    for payload in payloads:
        summaries.apply(story(payload))
    return summaries.view()


def failed(message: str) -> ModelFailed:
    return ModelFailed(request_id=RequestId("r9"), fault="transport", message=message, attempts=3)


def test_a_turn_is_what_was_asked_done_changed_tested_and_what_went_wrong() -> None:
    view = told(
        UserMessageReceived(text="Fix  the\nnight shift"),
        TurnStarted(turn=1),
        requested("r1"),
        responded("r1", "I look first."),
        file_changed("a.py", added=4, removed=1),
        file_changed("notes.md", author="human", added=9, removed=0),
        file_changed("a.py", added=1, removed=0),
        ran_tests(30, 2, "test_a", "test_b"),
        ran_tests(31, 1, "test_b"),
        requested("r2"),
        responded("r2", "One test still fails."),
        TodoUpdated(
            items=(TodoItem(id="1", content="Fix", status="completed"), TodoItem(id="2", content="Test"))
        ),
        failed("no connection"),
        TurnFinished(turn=1, reason="model_error", detail="It does not answer."),
    )
    (turn,) = view.turns
    assert turn == TurnSummary(
        turn=1,
        prompt="Fix the night shift",
        answer="One test still fails.",
        files=("a.py",),
        tests=("pytest -q: 31 passed, 1 failed (test_b)",),
        errors=("no connection", "The turn ended (model error): It does not answer."),
    )
    assert [item.content for item in view.open_tasks] == ["Test"]
    text = summary_text(view, "ses_1")
    for words in (
        "continues the earlier session ses_1, which had 1 turn:",
        "- Asked: Fix the night shift",
        "- Done: One test still fails.",
        "- Changed: a.py",
        "1 failed (test_b)",
        "## Left open\n- [ ] Test",
    ):
        assert words in text


def test_a_message_that_was_never_answered_is_told() -> None:
    view = told(
        TurnStarted(turn=1), TurnFinished(turn=1, reason="finished"), UserMessageReceived(text="and then?")
    )
    assert view.turns[-1] == TurnSummary(2, "and then?", errors=("Not answered.",))


def test_a_session_in_which_nothing_was_said_has_no_summary() -> None:
    assert summary_text(told(), "ses_1") == ""


def test_what_an_earlier_session_took_over_goes_on_into_the_next() -> None:
    loaded = SessionContextLoaded(from_session=SessionId("ses_0"), turns=2, summary="We chose SQLite.")
    assert "## Before that\nWe chose SQLite." in summary_text(told(loaded), "ses_1")


PLAN = QuestionAsked(
    question_id=RequestId("q1"),
    text="# Rename\n\n1. Find it.",
    form="plan",
    options=("Yes", "Automatic", "No"),
)
APPROVED = QuestionAnswered(question_id=RequestId("q1"), answer="Yes", choice=0)
STOPPED, FINISHED = (TurnFinished(turn=1, reason=reason) for reason in ("interrupted", "finished"))
GO_ON = (TurnStarted(turn=2), TurnFinished(turn=2, reason="finished"))


@pytest.mark.parametrize(
    ("later", "plan"),
    [
        ((APPROVED, STOPPED), "# Rename\n\n1. Find it."),
        ((APPROVED.model_copy(update={"answer": "1. Ask."}), STOPPED), "1. Ask."),
        ((APPROVED, STOPPED, UserMessageReceived(text="And?"), *GO_ON), "# Rename\n\n1. Find it."),
        ((APPROVED.model_copy(update={"choice": 2}), STOPPED), ""),
        ((STOPPED,), ""),
        ((APPROVED, FINISHED), ""),
        ((APPROVED, STOPPED, *GO_ON), ""),
    ],
)
def test_an_approved_plan_that_was_not_carried_out_to_the_end_is_told(
    later: tuple[Payload, ...], plan: str
) -> None:
    view = told(UserMessageReceived(text="Plan it"), TurnStarted(turn=1), PLAN, *later)
    assert view.open_plan == plan
    block = f"## Approved plan, not carried out to the end\n{plan}"
    assert summary_text(view, "ses_1").endswith(block) == bool(plan)


def turns(count: int, words: str) -> TurnSummariesView:
    files = tuple(f"src/some/where/module_{i}.py" for i in range(60))
    made = tuple(
        TurnSummary(at, f"{words} {at}", words, files, (words,) * 5, (words,) * 5)
        for at in range(1, count + 1)
    )
    left = tuple(TodoItem(id=str(i), content=words) for i in range(30))
    return TurnSummariesView(made, left, "A long one", "carried " * 300)


@pytest.mark.parametrize("words", ["word " * 300, "語" * 1_200, "🙂" * 1_200, "x" * 1_200])
@pytest.mark.parametrize("count", [1, 7, 400])
def test_a_summary_is_bounded_whatever_was_said(count: int, words: str) -> None:
    view = replace(turns(count, words), earlier_summary=words * 2, open_plan=words * 2)
    text = summary_text(view, "ses_0123456789abcdef")
    assert len(text) <= MAX_CHARS
    assert len(text.encode()) <= MAX_BYTES
    assert "## Left open" in text and "## Before that" in text
    assert "## Approved plan" in text and f"turn {count}" in text.casefold()


def test_the_newest_turn_is_told_in_most_detail_and_the_oldest_are_left_out_first() -> None:
    text = summary_text(turns(400, "something of a middling length was asked"), "ses_1")
    newest, oldest = text.index("## Turn 400"), text.index("- turn ")
    assert oldest < text.index("## Turn 395") < newest
    assert "module_8.py" in text[newest:] and "module_8.py" not in text[oldest:newest]
    left_out = int(text.split("(the oldest ")[1].split()[0])
    assert 0 < left_out < 395 and f"- turn {left_out + 1}:" in text and f"- turn {left_out}:" not in text


def test_the_golden_session_is_told_as_it_was() -> None:
    text = summary_text(fold(TurnSummaries(), current_branch(golden("night_shift"))), "ses_1")
    assert "How is the weekly report put together?" in text
    assert "src/timesheet/entry.py" in text and "pytest" in text
