"""Keys that the main screen names: none of them goes to the question, or to the transcript, that has the keys now."""

import pytest

from tests.tui.app.driving import Driven, golden, open_app
from tests.tui.app.test_approvals import ask, request
from tui_agent.protocol.events.turn import (
    QuestionAnswered,
    QuestionAsked,
    TurnStarted,
    UserMessageReceived,
    UserQueued,
)
from tui_agent.protocol.ids import RequestId

SIZES = [(120, 40), (80, 24)]
KEYS = "Enter sends it now   Up edits or removes"


def queue_row(driven: Driven) -> str:
    return next(row for row in driven.rows() if "tell me when" in row)


@pytest.mark.parametrize("size", SIZES)
async def test_a_queued_message_offers_no_key_while_an_approval_is_open(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        driven.session.feed(TurnStarted(turn=3), UserQueued(queue_id=RequestId("q1"), text="tell me when"))
        await driven.settle()
        assert KEYS in queue_row(driven)
        await ask(driven, request())
        await driven.until(lambda: "Enter sends" not in queue_row(driven))
        assert "Up edits" not in queue_row(driven) and "after this turn" in queue_row(driven)
        await driven.press("enter")
        await driven.until(lambda: KEYS in queue_row(driven))


@pytest.mark.parametrize("size", SIZES)
async def test_a_queued_message_offers_no_key_while_a_question_is_open(size: tuple[int, int]) -> None:
    question = QuestionAsked(question_id=RequestId("q_1"), text="Which?", form="choice", options=("a", "b"))
    async with open_app(golden("night_shift"), size=size) as driven:
        driven.session.feed(
            TurnStarted(turn=3), UserQueued(queue_id=RequestId("q1"), text="tell me when"), question
        )
        await driven.settle()
        await driven.until(lambda: "Enter sends" not in queue_row(driven))
        assert "Up edits" not in queue_row(driven)
        driven.session.feed(QuestionAnswered(question_id=question.question_id, answer="a"))
        await driven.until(lambda: KEYS in queue_row(driven))


async def test_a_queued_message_offers_no_key_that_the_transcript_has() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(UserQueued(queue_id=RequestId("q1"), text="tell me when"))
        await driven.settle()
        await driven.press("tab")
        assert "Enter" not in queue_row(driven) and "Up" not in queue_row(driven)
        await driven.press("tab")
        assert KEYS in queue_row(driven)


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "hint", ["F3 trace", "2 new rows (End)", "Ctrl+O shows the pasted", "Ctrl+O shows 10 more"]
)
async def test_no_other_row_names_a_key_that_does_not_work_while_an_approval_is_open(hint: str) -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        await driven.press("pageup")
        driven.session.feed(UserMessageReceived(text="More."))
        await driven.settle()
        if hint == "Ctrl+O shows 10 more":
            driven.app.say("A long notice. " * 75)
        elif hint.startswith("Ctrl+O"):
            driven.app.editor.insert(driven.app.editor.chips.fold("line\n" * 40))
            driven.app.editor.move_cursor((0, 3))
        await driven.until(lambda: hint in driven.text())
        await ask(driven, request())
        await driven.until(lambda: hint not in driven.text())
        assert not any(key in driven.text() for key in ("F3", "End)", "Ctrl+O"))
        await driven.press("escape")
        await driven.until(lambda: hint in driven.text())
