"""Keys pressed between the approvals for several calls of one answer, and drafts that an approval covers."""

import pytest
from textual import events

from tests.stubs.story import called, decision, started
from tests.tui.app.driving import Driven, golden, open_app
from tests.tui.app.test_approvals import ask, request
from tui_agent.protocol.commands import DecidePermission, Steer
from tui_agent.tui.modals.approval import Approval


async def answer_first_of_three_calls(driven: Driven) -> None:
    """Allow the first of three calls of one answer. The approvals for the others are not open yet."""
    driven.session.feed(*(called(f"call_{number}") for number in (1, 2, 3)))
    await ask(driven, request(1))
    await driven.press("y")
    await driven.until(lambda: len(driven.session.submitted) == 1)
    driven.session.feed(started("call_1"))
    await driven.until(lambda: not isinstance(driven.app.screen, Approval))


async def test_answers_before_the_next_approval_is_open_are_dropped() -> None:
    async with open_app(golden("night_shift")) as driven:
        await answer_first_of_three_calls(driven)
        for key in ("y", "y", "enter", "s", "enter", "n", "enter", "a", "enter"):
            await driven.press(key)
        assert driven.app.editor.text == "" and len(driven.session.submitted) == 1
        modal = await ask(driven, request(2))
        assert not modal.is_writing and modal.chosen == "y" and "Your message" not in driven.text()
        await driven.press("y")
        assert [type(command) for command in driven.session.submitted] == [DecidePermission] * 2


@pytest.mark.parametrize("text", ["yes but", "say why", "add a test", "no", "ok"])
async def test_a_message_typed_before_the_next_approval_is_open_is_whole(text: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        await answer_first_of_three_calls(driven)
        await driven.press("y", "y", "enter")
        await driven.type(text)
        assert driven.app.editor.text == text
        modal = await ask(driven, request(2))
        assert modal.is_writing
        await driven.press("enter")
        assert [type(command) for command in driven.session.submitted] == [DecidePermission, Steer]


async def test_an_old_draft_gets_no_answers_before_the_next_approval_is_open() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.editor.put_text("wait")
        driven.session.feed(called("call_1"), called("call_2"))
        await ask(driven, request(1))
        await driven.press("y", "y")
        await driven.until(lambda: not isinstance(driven.app.screen, Approval))
        await driven.press("y", "enter")
        assert driven.app.editor.text == "wait" and len(driven.session.submitted) == 1
        modal = await ask(driven, request(2))
        assert not modal.is_writing


async def test_a_message_goes_on_in_the_next_approval_if_the_first_one_is_answered_elsewhere() -> None:
    async with open_app(golden("night_shift")) as driven:
        first = await ask(driven, request(1), request(2))
        driven.app.editor.post_message(events.Paste("not these"))
        await driven.until(lambda: first.is_writing)
        driven.session.feed(decision("call_1", request_id="req_1"))
        await driven.until(lambda: driven.app.screen is not first)
        await driven.until(lambda: isinstance(driven.app.screen, Approval) and driven.app.screen.is_writing)
        await driven.press("enter")
        assert [type(command) for command in driven.session.submitted] == [Steer]


async def test_after_the_last_call_of_an_answer_its_letters_are_text() -> None:
    async with open_app(golden("night_shift")) as driven:
        await answer_first_of_three_calls(driven)
        driven.session.feed(started("call_2"), started("call_3"))
        await driven.settle()
        await driven.press("y")
        assert driven.app.editor.text == "y"


async def test_an_old_draft_does_not_get_the_keys_of_an_approval() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.editor.put_text("wait")
        modal = await ask(driven, request())
        assert not modal.is_writing and modal.chosen == "y" and "Your message  wait" in driven.text()
        await driven.press("enter")
        assert driven.session.submitted == [] and "press Y again or Enter to allow the call" in driven.text()
        await driven.press("enter")
        [answer] = driven.session.submitted
        assert isinstance(answer, DecidePermission) and driven.app.editor.text == "wait"
