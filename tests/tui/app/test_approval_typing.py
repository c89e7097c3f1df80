"""Keys that reach an approval while somebody types: they never answer it, and no typed text is lost."""

import time

import pytest
from textual import events

from tests.tui.app.driving import Driven, end_grace_period, golden, open_app
from tests.tui.app.test_approvals import CHOICES, ask, request
from tui_agent.protocol.commands import DecidePermission, Interrupt, Queue, Steer
from tui_agent.protocol.events.policy import PermissionChoice
from tui_agent.protocol.events.turn import TurnStarted, UserQueued, UserUnqueued
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.modals.approval import Approval
from tui_agent.tui.modals.confirm import QuitQuestion
from tui_agent.tui.modals.policy import PolicySheet
from tui_agent.tui.terminal.keyboard import TypingBurst
from tui_agent.tui.widgets.key_settings import apply_key_settings


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


async def test_esc_before_the_question_was_seen_stops_the_turn() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/")
        modal = await ask(driven, request(), hearing=False)
        await driven.press("escape")
        assert (
            driven.session.submitted == [] and not driven.app.prompt.menu.display
        )  # it was meant for the menu
        await driven.press("escape")
        assert [type(command) for command in driven.session.submitted] == [Interrupt]
        assert driven.app.screen is modal


async def test_esc_before_the_question_was_seen_leaves_the_insert_mode_of_vim() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.editor.use_vim(on=True)
        await ask(driven, request(), hearing=False)
        await driven.press("escape")
        assert driven.session.submitted == [] and driven.app.editor.vim.mode == "normal"


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
        end_grace_period(modal)
        driven.app.post_message(events.Paste(", always"))
        await driven.pilot.pause()
        assert driven.app.prompt.editor.text == "you and this, always" and driven.app.screen is modal
        await driven.press("down", "enter")
        decided = driven.session.submitted[-1]
        assert isinstance(decided, DecidePermission) and decided.reach == "once"
        assert driven.app.prompt.editor.text == "you and this, always"


async def erase_message(driven: Driven) -> Approval:
    """Begin a message in an open approval, and erase it."""
    modal = await ask(driven, request())
    await driven.press("z", "z")
    await driven.until(lambda: driven.app.editor.text == "zz")
    assert modal.is_writing
    await driven.press("ctrl+u")
    await driven.until(lambda: driven.app.editor.text == "")
    return modal


async def test_after_the_message_is_erased_a_letter_is_an_answer_again() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await erase_message(driven)
        assert modal.chosen is None and "send message" not in driven.rows()[-1]
        await driven.press("enter")
        assert driven.session.submitted == [] and driven.app.screen is modal
        await driven.press("n")
        await driven.type("there is no such folder")
        await driven.press("enter")
        [decision] = driven.session.submitted
        assert isinstance(decision, DecidePermission)
        assert (decision.decision, decision.message) == ("deny", "there is no such folder")
        assert driven.app.editor.text == ""


async def test_after_the_message_is_erased_letters_typed_in_a_row_are_a_new_message() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await erase_message(driven)
        modal.answer_delay_s = 0.5
        await type_slowly(driven, "yes but", 0.1)
        assert driven.app.editor.text == "yes but" and modal.is_writing
        assert driven.session.submitted == [] and driven.app.screen is modal


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
        for pause_s in (0.5, 1.4, 60):
            modal.post_message(key_at("y", modal._opened_at + pause_s))
            await driven.pilot.pause()
        assert driven.session.submitted == [] and driven.app.prompt.editor.text == "please yyy"


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_enter_sends_the_message_that_is_in_the_prompt_and_answers_nothing(
    size: tuple[int, int],
) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        await driven.type("please do not write that file yet")
        modal = await ask(driven, request())
        assert modal.chosen is None and "write that file yet" in driven.text()
        assert ("Enter sends" if size[0] == 40 else "Enter send message") in driven.text()
        await driven.press("enter")
        assert [type(command) for command in driven.session.submitted] == [Steer]
        assert driven.app.screen is modal and driven.app.prompt.editor.text == ""
        await driven.press("enter")
        assert len(driven.session.submitted) == 1, "a second Enter that comes at once answers nothing"
        end_grace_period(modal)
        await driven.until(lambda: "file yet" not in driven.text())
        assert modal.chosen == "y"
        assert size[0] == 40 or driven.rows()[-1].lstrip().startswith("Enter answer")
        assert len(driven.session.submitted) == 1 and driven.app.screen is modal
        await driven.press("enter")
        assert isinstance(driven.session.submitted[-1], DecidePermission)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_a_message_that_is_queued_is_named_and_an_answer_is_selected_again(
    size: tuple[int, int],
) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        modal = await ask(driven, request())
        await driven.type("should we keep it")
        await driven.press("tab")
        [queued] = driven.session.submitted
        assert isinstance(queued, Queue) and modal.in_grace_period
        driven.session.feed(UserQueued(queue_id=RequestId("q1"), text=queued.text))
        await driven.until(lambda: "Queued  should we keep it" in driven.text())
        end_grace_period(modal)
        assert modal.chosen == "y" and driven.app.screen is modal
        await driven.type("more")
        await driven.until(lambda: "Queued  " not in driven.text())
        await driven.press(*["backspace"] * 4)
        driven.session.feed(UserUnqueued(queue_id=RequestId("q1")))
        await driven.settle()
        assert "should we keep it" not in driven.text()


async def test_after_a_message_the_answer_no_is_selected_again_if_it_was_first() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request(default_no=True))
        await driven.type("should we keep it")
        await driven.press("enter")
        await driven.until(lambda: modal.chosen == "n")
        end_grace_period(modal)
        await driven.press("enter")
        assert modal.typing and len(driven.session.submitted) == 1


async def test_a_message_that_arrives_and_is_sent_at_once_selects_the_default_answer_again() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request(default_no=True))
        driven.app.post_message(TypingBurst())
        for key in (*"wait", "enter"):
            driven.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await driven.until(lambda: len(driven.session.submitted) == 1)
        await driven.settle()
        assert modal.chosen == "n" and not modal.is_writing and modal.in_grace_period


async def test_a_text_that_arrives_at_once_in_an_open_approval_is_sent_by_enter() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request())
        driven.app.post_message(TypingBurst())
        for key in "wait":
            driven.app.post_message(events.Key(key, key))
        await driven.until(lambda: driven.app.prompt.editor.text == "wait")
        end_grace_period(modal)
        await driven.press("enter")
        assert [type(command) for command in driven.session.submitted] == [Steer]
        assert driven.app.screen is modal


async def test_esc_leaves_the_message_first_and_keeps_its_text_when_it_refuses() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("wait")
        modal = await ask(driven, request())
        await driven.press("escape")
        assert driven.app.screen is modal and driven.session.submitted == [] and modal.chosen is None
        await driven.press("enter")
        assert [type(command) for command in driven.session.submitted] == [Steer]
        driven.app.editor.post_message(events.Paste("again"))
        await driven.until(lambda: modal.is_writing)
        await driven.press("escape", "escape")
        decided = driven.session.submitted[-1]
        assert isinstance(decided, DecidePermission) and decided.decision == "deny"
        assert driven.app.editor.text == "again"


async def test_beside_an_unsent_message_y_selects_its_answer_and_gives_it_when_it_is_pressed_again() -> None:
    for again in ("y", "enter"):
        async with open_app(golden("night_shift")) as driven:
            await driven.type("wait")
            modal = await ask(driven, request())
            await driven.press("escape", "y")
            assert modal.chosen == "y" and driven.session.submitted == [] and driven.app.screen is modal
            assert "press Y again or Enter to allow the call" in driven.text()
            await driven.press(again)
            [answer] = driven.session.submitted
            assert isinstance(answer, DecidePermission) and answer.reach == "once"
            assert driven.app.editor.text == "wait"


async def test_the_next_approval_does_not_answer_a_message_either() -> None:
    async with open_app(golden("night_shift")) as driven:
        first = await ask(driven, request(1), request(2))
        driven.app.editor.post_message(events.Paste("not these files"))
        await driven.until(lambda: first.is_writing)
        await driven.press("down", "enter")
        second = driven.app.screen
        assert isinstance(second, Approval) and second.request_id == "req_2"
        end_grace_period(second)
        await driven.press("enter")
        assert [type(command) for command in driven.session.submitted] == [DecidePermission]
        assert (
            driven.app.screen is second and second.is_picked and driven.app.editor.text == "not these files"
        )


async def test_the_users_own_keys_send_the_message_and_choose_an_answer() -> None:
    own = {"send": "ctrl+s", "steer": "ctrl+s", "newline": "enter", "approval_choose": "f8, f9"}
    async with open_app(golden("night_shift")) as driven:
        driven.app.use_keys(apply_key_settings(own).actions)
        await driven.type("wait")
        modal = await ask(driven, request())
        await driven.until(lambda: "Ctrl+S send message" in driven.rows()[-1])
        await driven.press("enter")
        assert driven.app.editor.text == "wait\n" and driven.session.submitted == []
        await driven.press("ctrl+s")
        assert [type(command) for command in driven.session.submitted] == [Steer]
        end_grace_period(modal)
        await driven.press("f9", "enter")
        assert isinstance(driven.session.submitted[-1], DecidePermission)


async def test_keys_of_one_read_never_answer_however_long_the_approval_is_open() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request())
        driven.app.post_message(TypingBurst())
        for key in "yes":
            driven.app.post_message(events.Key(key, key))
        await driven.until(lambda: driven.app.prompt.editor.text == "yes")
        assert driven.session.submitted == [] and driven.app.screen is modal
        modal.post_message(key_at("y", modal._opened_at + 0.9))
        await driven.until(lambda: driven.app.prompt.editor.text == "yesy")
        assert driven.session.submitted == [] and driven.app.screen is modal


async def test_no_takes_the_message_in_the_prompt_along_as_its_reason() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.editor.put_text("use the\nlibrary")
        modal = await ask(driven, request())
        await driven.press("n")
        await driven.until(lambda: modal.reason.text == "use the library")
        assert driven.app.prompt.editor.text == "use the\nlibrary", "the message stays until it is sent"
        await driven.press("escape")
        assert modal.reason.text == "" and driven.app.prompt.editor.text == "use the\nlibrary"
        await driven.press("n")
        await driven.type(" instead")
        await driven.press("enter")
        (decision,) = driven.session.submitted
        assert isinstance(decision, DecidePermission)
        assert (decision.decision, decision.message) == ("deny", "use the library instead")
        assert driven.app.prompt.editor.text == ""


@pytest.mark.slow_variants
@pytest.mark.parametrize("text", ["/status", "!ls", "look at [pasted 40 lines]"])
async def test_no_takes_no_command_and_no_long_paste_along(text: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.editor.chips.texts["[pasted 40 lines]"] = "a\n" * 40
        driven.app.prompt.editor.put_text(text)
        modal = await ask(driven, request())
        await driven.press("n")
        await driven.until(lambda: modal.typing)
        assert modal.reason.text == "" and driven.app.prompt.editor.text == text


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
        question = QuitQuestion("A background job is running.")
        driven.app.push_screen(question)
        await driven.pilot.pause()
        end_grace_period(question)
        driven.app.post_message(TypingBurst())
        for key in ("l", "s", "enter"):
            driven.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await driven.settle()
        assert driven.app.screen is question
        assert (driven.app.prompt.editor.text, driven.session.submitted) == ("", [])


async def type_slowly(driven: Driven, text: str, gap_s: float) -> None:
    """Type into the open approval, with this time between two keys."""
    modal = driven.app.screen
    assert isinstance(modal, Approval)
    for number, char in enumerate(text):
        event = events.Key("space" if char == " " else char, char)
        event.time = 1000 + number * gap_s
        modal.post_message(event)
        await driven.pilot.pause()


@pytest.mark.slow_variants
@pytest.mark.parametrize("gap_s", [0.1, 0.7, 1.5])
@pytest.mark.parametrize(
    "text", ["actually no", "should we do it", "assign it later", "say why", "please wait", "does it work"]
)
async def test_a_message_typed_into_an_open_approval_allows_nothing(text: str, gap_s: float) -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request())
        modal.answer_delay_s = 0.5
        await type_slowly(driven, text, gap_s)
        assert driven.session.submitted == [] and driven.app.screen is modal
        assert modal.is_writing
        assert driven.app.editor.text == text
        await driven.press("enter")
        [steer] = driven.session.submitted
        assert isinstance(steer, Steer) and steer.text == text


async def test_y_waits_for_further_letters_and_enter_does_not_wait() -> None:
    for following, kind in (("e", None), ("enter", DecidePermission)):
        async with open_app(golden("night_shift")) as driven:
            modal = await ask(driven, request())
            modal.answer_delay_s = 3600
            await driven.press("y")
            assert driven.session.submitted == [] and modal.chosen == "y"
            await driven.press(following)
            assert [type(command) for command in driven.session.submitted] == ([kind] if kind else [])
            assert driven.app.editor.text == ("ye" if kind is None else "")


async def test_y_alone_allows_once_a_moment_later() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request())
        modal.answer_delay_s = 0.01
        await driven.press("y")
        await driven.until(lambda: driven.session.submitted)
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.reach == "once"


async def test_a_key_that_is_held_down_allows_nothing() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request())
        modal.answer_delay_s = 0.5
        await type_slowly(driven, "aaaa", 0.03)
        assert driven.session.submitted == [] and driven.app.editor.text == "aaaa"


async def test_letters_of_an_answer_that_is_not_available_do_not_become_a_message() -> None:
    no_always = PermissionChoice(
        reach="always", rule="", offered=False, explanation="not available for commands that delete"
    )
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request(choices=(*CHOICES[:2], no_always)))
        modal.answer_delay_s = 0.5
        await type_slowly(driven, "aass", 0.03)
        assert driven.app.editor.text == "" and modal.chosen == "s"
        await driven.until(lambda: bool(driven.session.submitted))
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.reach == "session"


async def test_a_command_sent_from_an_approval_gives_the_approval_its_keys_back() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/policy")
        modal = await ask(driven, request())
        assert modal.is_writing
        await driven.press("enter")
        await driven.until(lambda: isinstance(driven.app.screen, PolicySheet))
        await driven.press("escape")
        await driven.until(lambda: driven.app.screen is modal)
        assert not modal.is_writing and "send message" not in driven.rows()[-1]
        end_grace_period(modal)
        await driven.press("y")
        assert [type(command) for command in driven.session.submitted] == [DecidePermission]
        assert driven.app.editor.text == ""


async def test_an_answer_after_the_policies_were_shown_and_closed_is_no_message() -> None:
    async with open_app(golden("night_shift")) as driven:
        modal = await ask(driven, request())
        modal.answer_delay_s = 0.5
        await type_slowly(driven, "ppss", 0.1)
        assert driven.app.editor.text == "" and not modal.shows_policy
        await driven.until(lambda: bool(driven.session.submitted))
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and answer.reach == "session"
