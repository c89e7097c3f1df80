"""The sheet that asks the user a question, or to approve a plan: keys, own words, putting it aside."""

import pytest

from tests.tui.app.driving import Driven, end_grace_period, golden, open_app
from tui_agent.protocol.commands import AnswerQuestion, Steer
from tui_agent.protocol.events.turn import QuestionAnswered, QuestionAsked, TurnStarted
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.question import Question
from tui_agent.tui.widgets.sheet import NO_ROW


async def ask_question(driven: Driven, question: QuestionAsked) -> Question:
    driven.session.feed(TurnStarted(turn=3), question)
    await driven.settle()
    modal = driven.app.screen
    assert isinstance(modal, Question)
    end_grace_period(modal)
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
        await driven.type("!ls")
        assert "Enter steer now" not in driven.rows()[-1] and "Enter answer" not in driven.rows()[-1]
        await driven.press("backspace", "backspace", "backspace")
        assert "Enter answer" in driven.rows()[-1]
        await driven.press("enter")
        modal = driven.app.screen
        assert isinstance(modal, Question)
        end_grace_period(modal)
        await driven.press("2")
        assert driven.session.submitted == []
        await driven.press("2")
        [answer] = driven.session.submitted
        assert isinstance(answer, AnswerQuestion) and (answer.answer, answer.choice) == ("json", 1)
        driven.session.feed(QuestionAnswered(question_id=question.question_id, answer="json", choice=1))
        await driven.settle()
        assert "Enter steer now" in driven.rows()[-1]


async def test_a_message_answers_the_question_that_was_put_aside() -> None:
    for question in (
        QuestionAsked(question_id=RequestId("q_1"), text="Which?", form="text"),
        QuestionAsked(question_id=RequestId("q_1"), text="Which?", form="choice", options=("csv", "json")),
        QuestionAsked(
            question_id=RequestId("q_1"), text="1. Read", form="plan", options=("Approve", "Refuse")
        ),
        QuestionAsked(
            question_id=RequestId("q_1"), text="Continue?", form="stuck", options=("Go on", "Stop")
        ),
    ):
        async with open_app(golden("night_shift")) as driven:
            await ask_question(driven, question)
            await driven.press("escape")
            await driven.type("neither")
            assert "Enter answer" in driven.rows()[-1] and "answers the question" in driven.text()
            await driven.press("enter")
            [answer] = driven.session.submitted
            assert isinstance(answer, AnswerQuestion)
            assert (answer.question_id, answer.answer, answer.choice) == ("q_1", "neither", None)
            driven.session.feed(QuestionAnswered(question_id=question.question_id, answer="neither"))
            await driven.settle()
            await driven.type("x")
            assert "Enter steer now" in driven.rows()[-1] and "steers this turn" in driven.text()


async def test_a_message_steers_where_it_cannot_answer_and_the_app_says_how_to_open_the_question() -> None:
    async with open_app(golden("night_shift")) as driven:
        for number in (1, 2):
            question = QuestionAsked(question_id=RequestId(f"q_{number}"), text="Which?", form="text")
            await ask_question(driven, question)
            await driven.press("escape")
        await driven.type("neither")
        assert "Enter steer now" in driven.rows()[-1]
        await driven.press("enter")
        [steer] = driven.session.submitted
        assert isinstance(steer, Steer) and steer.text == "neither"
        assert "A question is still waiting. Press Enter in an empty prompt to open it." in driven.text()


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


async def test_a_short_question_on_a_low_screen_keeps_its_empty_rows() -> None:
    question = QuestionAsked(
        question_id=RequestId("q_1"), text="Which one?", form="choice", options=("A", "B")
    )
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        await ask_question(driven, question)
        rows = driven.rows()
        top = next(index for index, row in enumerate(rows) if "A question for you" in row)
        assert rows[top - 1][4:72].strip() == "▌" and rows[top + 1][4:72].strip() == "▌"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 14)])
async def test_a_long_plan_says_how_many_of_its_rows_were_not_seen_yet(size: tuple[int, int]) -> None:
    plan = QuestionAsked(
        question_id=RequestId("q_1"),
        text="\n".join(f"{number}. Part {number}" for number in range(1, 61)),
        form="plan",
        options=("Approve", "Keep planning"),
    )
    async with open_app(golden("night_shift"), size=size) as driven:
        modal = await ask_question(driven, plan)
        shown = sum(". Part " in row for row in driven.rows())
        assert shown >= {24: 13, 40: 22, 14: 6}[size[1]], driven.text()
        assert f"{60 - shown} rows not seen yet" in driven.text() and "PgUp/PgDn scroll" in driven.rows()[-1]
        await driven.press("pagedown")
        left = modal.unseen_rows
        assert 0 < left < 60 - shown and f"{left} rows not seen yet" in driven.text()
        await driven.press("pageup")
        assert modal.unseen_rows == left
        await driven.press(*["pagedown"] * 10)
        assert "Part 60" in driven.text() and "not seen yet" not in driven.text()
        assert "PgUp" not in driven.rows()[-1]
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, AnswerQuestion) and answer.choice == 0


async def test_enter_sends_the_message_in_the_prompt_and_approves_no_plan() -> None:
    plan = QuestionAsked(
        question_id=RequestId("q_1"), text="1. Read", form="plan", options=("Approve", "Keep planning")
    )
    async with open_app(golden("night_shift")) as driven:
        await driven.type("wait for me")
        modal = await ask_question(driven, plan)
        await driven.type(" 1")
        assert "Your message  wait for me 1" in driven.text() and modal.chosen == NO_ROW
        await driven.press("enter")
        [steer] = driven.session.submitted
        assert isinstance(steer, Steer) and steer.text == "wait for me 1" and driven.app.screen is modal
        await driven.press("enter")
        assert len(driven.session.submitted) == 1 and driven.app.screen is modal
        end_grace_period(modal)
        assert modal.chosen == 0
        await driven.press("up", "up", "enter")
        answer = driven.session.submitted[-1]
        assert isinstance(answer, AnswerQuestion) and answer.choice == 1


async def test_a_digit_selects_its_answer_and_begins_a_text() -> None:
    plan = QuestionAsked(
        question_id=RequestId("q_1"), text="1. Read", form="plan", options=("Approve", "Keep planning")
    )
    async with open_app(golden("night_shift")) as driven:
        modal = await ask_question(driven, plan)
        await driven.press("1")
        assert driven.session.submitted == [] and modal.chosen == 0
        await driven.type(" more step")
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, AnswerQuestion) and (answer.answer, answer.choice) == ("1 more step", None)


async def test_a_confirmation_answered_with_y_waits_for_further_letters_and_then_closes() -> None:
    answers: list[bool | None] = []
    async with open_app(golden("night_shift")) as driven:
        sheet = Confirm("Delete it?", ("It is gone then.",), yes=("confirm_yes", "delete"), no="keep")
        driven.app.push_screen(sheet, answers.append)
        await driven.until(lambda: driven.app.screen is sheet)
        await driven.pilot.pause()
        await driven.until(lambda: not sheet.in_grace_period)
        await driven.press("y")
        await driven.until(lambda: answers == [True])
        assert driven.app.screen is not sheet
