"""The sheet that asks the user a question, or to approve a plan: keys, own words, putting it aside."""

from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.base import RequestId
from tui_agent.protocol.commands import AnswerQuestion
from tui_agent.protocol.events.turn import QuestionAnswered, QuestionAsked, TurnStarted
from tui_agent.tui.modals.question import Question


async def ask_question(driven: Driven, question: QuestionAsked) -> Question:
    driven.session.feed(TurnStarted(turn=3), question)
    await driven.settle()
    modal = driven.app.screen
    assert isinstance(modal, Question)
    modal.end_grace_period()
    return modal


async def test_a_question_is_answered_by_number_by_words_or_put_aside() -> None:
    question = QuestionAsked(
        question_id=RequestId("q_1"), text="Which format?", form="choice", options=("csv", "json")
    )
    async with open_app(golden("night_shift")) as driven:
        await ask_question(driven, question)
        assert "Which format?" in driven.text()
        await driven.press("escape")
        assert driven.session.submitted == [] and "waiting for you" in driven.text()
        assert "Enter answer" in driven.rows()[-1]
        await driven.type("x")
        assert "Enter steer now" in driven.rows()[-1]
        await driven.press("backspace")
        assert "Enter answer" in driven.rows()[-1]
        await driven.press("enter")
        modal = driven.app.screen
        assert isinstance(modal, Question)
        modal.end_grace_period()
        await driven.press("2")
        [answer] = driven.session.submitted
        assert isinstance(answer, AnswerQuestion) and (answer.answer, answer.choice) == ("json", 1)
        driven.session.feed(QuestionAnswered(question_id=question.question_id, answer="json", choice=1))
        await driven.settle()
        assert "Enter steer now" in driven.rows()[-1]


async def test_own_words_answer_a_question() -> None:
    question = QuestionAsked(question_id=RequestId("q_1"), text="What name?", form="text")
    async with open_app(golden("night_shift")) as driven:
        await ask_question(driven, question)
        await driven.type("night shift 2")
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, AnswerQuestion) and (answer.answer, answer.choice) == (
            "night shift 2",
            None,
        )


async def test_a_question_for_a_text_begins_in_the_field_and_its_options_are_above() -> None:
    options = ("Leave it out", "Decline")
    question = QuestionAsked(question_id=RequestId("q_1"), text="How old?", form="text", options=options)
    for keys, answered in ((("2", "enter"), ("2", None)), (("up", "enter"), ("Decline", 1))):
        async with open_app(golden("night_shift")) as driven:
            await ask_question(driven, question)
            assert "Leave it out" in driven.text() and "In your own words" not in driven.text()
            assert driven.text().count("1  Leave it out") == 1  # in the chat only
            await driven.press("up")
            assert driven.text().count("1  Leave it out") == 2
            await driven.press("down")
            await driven.press(*keys)
            [answer] = driven.session.submitted
            assert isinstance(answer, AnswerQuestion) and (answer.answer, answer.choice) == answered


async def test_a_plan_is_approved_or_refused_with_a_reason() -> None:
    plan = QuestionAsked(
        question_id=RequestId("q_1"),
        text="1. Read\n2. Fix",
        form="plan",
        options=("Approve", "Keep planning"),
    )
    async with open_app(golden("night_shift")) as driven:
        await ask_question(driven, plan)
        assert "Continue with this plan?" in driven.text() and "2. Fix" in driven.text()
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, AnswerQuestion) and answer.choice == 0
