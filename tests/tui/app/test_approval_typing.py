"""Keys that reach an approval while somebody types: they never answer it, and no typed text is lost."""

import time

from textual import events

from tests.tui.app.driving import golden, open_app
from tests.tui.app.test_approvals import ask, request
from tui_agent.protocol.commands import DecidePermission, Steer
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.tui.modals.approval import Approval
from tui_agent.tui.modals.confirm import QuitQuestion
from tui_agent.tui.terminal.keyboard import TypingBurst


async def test_keys_are_ignored_at_first_and_while_a_word_is_still_typed() -> None:
    async with open_app(golden("night_shift")) as driven:
        await ask(driven, request(), hearing=False)
        await driven.pilot.press("y", "e", "s", "enter")
        assert driven.session.submitted == []
        assert isinstance(driven.app.screen, Approval)


async def test_a_key_that_was_pressed_before_the_question_was_seen_never_answers_it_however_late_it_comes() -> (
    None
):
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request())
        modal._grace_s = 0.3
        modal._opened_at = time.monotonic() - 100
        for name in ("y", "enter", "s", "a"):
            key = events.Key(name, name if len(name) == 1 else None)
            key.time = (
                modal._opened_at - 1
            )  # the screen was busy: the key waited, and the question came first
            driven.app.post_message(key)
            await driven.pilot.pause()
        assert driven.session.submitted == [] and driven.app.screen is modal


async def test_what_someone_is_writing_when_an_approval_appears_goes_on_in_the_prompt() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("and s")
        modal = await ask(driven, request(), hearing=False)
        await driven.type("ay why")
        await driven.press("backspace", "n")
        assert driven.app.prompt.editor.text == "and say whn" and driven.app.screen is modal
        await driven.press("enter")
        await driven.type("you")
        assert [type(one) for one in driven.session.submitted] == [Steer]
        assert driven.app.prompt.editor.text == "you" and driven.app.screen is modal
        driven.app.post_message(events.Paste(" and this"))
        await driven.pilot.pause()
        assert driven.app.prompt.editor.text == "you and this"
        modal.end_grace_period()
        driven.app.post_message(events.Paste(", always"))
        await driven.pilot.pause()
        assert driven.app.prompt.editor.text == "you and this, always" and driven.app.screen is modal
        await driven.press("y")
        decided = driven.session.submitted[-1]
        assert isinstance(decided, DecidePermission) and decided.reach == "once"
        assert driven.app.prompt.editor.text == "you and this, always"


async def test_a_key_to_an_empty_prompt_that_may_be_an_answer_too_early_is_neither() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("go")
        await driven.press("enter")
        modal = await ask(driven, request(), hearing=False)
        await driven.press("y")
        assert driven.app.prompt.editor.text == "" and driven.app.screen is modal
        await driven.type("es")
        assert driven.app.prompt.editor.text == "yes" and driven.app.screen is modal


def key_at(key: str, time_s: float) -> events.Key:
    """A key that was pressed at this time of the sheet's clock."""
    event = events.Key(key, key)
    event.time = time_s
    return event


async def test_a_pause_between_two_words_of_a_message_is_no_time_to_answer() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("please ")
        driven.session.feed(TurnStarted(turn=3), request())
        await driven.settle()
        modal = driven.app.screen
        assert isinstance(modal, Approval)
        opened_at = modal._opened_at
        modal.post_message(key_at("y", opened_at + 0.5))
        await driven.pilot.pause()
        assert driven.session.submitted == [] and driven.app.prompt.editor.text == "please y"
        modal.post_message(key_at("y", opened_at + 1.4))
        await driven.pilot.pause()
        assert [type(command) for command in driven.session.submitted] == [DecidePermission]


async def test_keys_of_one_read_never_answer_however_long_the_approval_is_open() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request())
        driven.app.post_message(TypingBurst())
        for key in "yes":
            driven.app.post_message(events.Key(key, key))
        await driven.until(lambda: driven.app.prompt.editor.text == "yes")
        assert driven.session.submitted == [] and driven.app.screen is modal
        modal.post_message(key_at("y", modal._opened_at + 0.9))
        await driven.pilot.pause()
        assert [type(command) for command in driven.session.submitted] == [DecidePermission]


async def test_keys_of_one_read_go_to_the_reason_while_it_is_typed() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request())
        await driven.press("n")
        driven.app.post_message(TypingBurst())
        for key in "why":
            driven.app.post_message(events.Key(key, key))
        await driven.until(lambda: modal.reason.text == "why")
        assert driven.app.prompt.editor.text == ""


async def test_keys_of_one_read_neither_answer_nor_send_under_a_question_that_the_user_opened() -> None:
    async with open_app(golden("night_shift")) as driven:
        question = QuitQuestion(lambda: driven.app.looks, "A background job is running.")
        driven.app.push_screen(question)
        await driven.pilot.pause()
        question.end_grace_period()
        driven.app.post_message(TypingBurst())
        for key in ("l", "s", "enter"):
            driven.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await driven.settle()
        assert driven.app.screen is question
        assert (driven.app.prompt.editor.text, driven.session.submitted) == ("", [])
