"""Keys by what has the focus and what runs: Esc, Ctrl+C, Ctrl+D, Up, and letters after a click into the chat."""

import pytest
from rich.style import Style
from textual.events import Key

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import NOWHERE, Driven, end_grace_period, golden, open_app
from tui_agent.protocol.commands import Interrupt, Queue, Rename, SubmitPrompt, Unqueue
from tui_agent.protocol.events.job import JobStarted
from tui_agent.protocol.events.turn import (
    TurnFinished,
    TurnStarted,
    UserQueued,
    UserUnqueued,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, JobId, RequestId
from tui_agent.tui.controller.chat import ChatWidget
from tui_agent.tui.modals.confirm import QuitQuestion

LINES = "\n".join(f"row {number}" for number in range(30))


def kinds(driven: Driven) -> list[type]:
    return [type(command) for command in driven.session.submitted]


async def click_chat(driven: Driven) -> ChatWidget:
    """Click into the transcript, which then has the focus."""
    widget = driven.app.query_one("#transcript", ChatWidget)
    await driven.pilot.click(widget, offset=(6, 3))
    await driven.pilot.pause()
    assert widget.has_focus
    return widget


def footer(driven: Driven) -> list[tuple[str, str]]:
    return [hint[:2] for hint in driven.app.footer.keys]


async def find(driven: Driven, text: str) -> ChatWidget:
    await driven.type(f"/find {text}")
    await driven.press("enter")
    widget = driven.app.query_one("#transcript", ChatWidget)
    await driven.until(lambda: widget.find_place)
    return widget


# -- Esc


@pytest.mark.parametrize("level", ["info", "warning"])
async def test_esc_interrupts_although_a_notice_is_shown(level: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        driven.app.say("Copied 3 lines.", level, stays=level == "warning")  # type: ignore[arg-type]
        await driven.press("escape")
        assert kinds(driven) == [Interrupt] and not driven.app.notice.display


async def test_esc_closes_a_notice_while_nothing_runs() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.say("Copied 3 lines.")
        await driven.press("escape")
        assert not driven.app.notice.display and kinds(driven) == []


async def test_esc_right_after_enter_interrupts_the_turn_that_is_about_to_start() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("go")
        await driven.press("enter", "escape")
        assert kinds(driven) == [SubmitPrompt, Interrupt]


async def test_esc_interrupts_from_the_chat_too() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        await click_chat(driven)
        assert ("Esc", "stop") in footer(driven)
        await driven.press("escape")
        assert kinds(driven) == [Interrupt]


async def test_fifty_escs_interrupt_once_and_open_nothing() -> None:
    session = FakeSession(golden("night_shift"))
    session.feed(TurnStarted(turn=3))

    def react(command: object) -> None:
        session.feed(TurnFinished(turn=3, reason="interrupted", duration_ms=5.0))

    session.react = react
    async with open_app(session=session) as driven:
        await driven.type("half a thought")
        await driven.press(*["escape"] * 50)
        assert kinds(driven) == [Interrupt]
        assert len(driven.app.screen_stack) == 1
        assert driven.app.prompt.editor.text == "half a thought"


@pytest.mark.slow
async def test_ten_thousand_notices_leave_one_and_one_timer() -> None:
    async with open_app(golden("night_shift")) as driven:
        timers = len(driven.app._timers)
        for number in range(10_000):
            driven.app.say(f"Notice {number}.")
        await driven.pilot.pause()
        assert "Notice 9999." in driven.text() and "Notice 9998." not in driven.text()
        assert len(driven.app._timers) <= timers + 1
        await driven.press("escape")
        assert not driven.app.notice.display


# -- Ctrl+C and Ctrl+D


async def test_ctrl_c_clears_the_message_before_it_quits() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("half a thought")
        await driven.press("ctrl+c")
        assert driven.app.prompt.editor.text == "" and not driven.app.has_quit
        assert "Cleared your message. Ctrl+Z restores it." in driven.text()
        await driven.press("ctrl+z")
        assert driven.app.prompt.editor.text == "half a thought"
        await driven.press("ctrl+c", "ctrl+c")
        assert not driven.app.has_quit
        await driven.press("ctrl+c")
        assert driven.app.has_quit


async def test_ctrl_c_interrupts_first_and_never_quits_while_text_is_typed() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        await driven.type("half a thought")
        await driven.press("ctrl+c")
        assert kinds(driven) == [Interrupt] and driven.app.prompt.editor.text == "half a thought"
        await driven.press("ctrl+c")
        assert driven.app.prompt.editor.text == "" and not driven.app.has_quit


@pytest.mark.parametrize("in_chat", [False, True])
async def test_ctrl_d_quits_only_with_an_empty_message(in_chat: bool) -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("ab")
        await driven.press("ctrl+a", "ctrl+d")
        assert driven.app.prompt.editor.text == "b" and not driven.app.has_quit
        await driven.press("f2", "ctrl+d")
        assert not driven.app.has_quit
        await driven.press("escape", "ctrl+d")
        assert driven.app.prompt.editor.text == ""
        if in_chat:
            await click_chat(driven)
        await driven.press("ctrl+d")
        assert driven.app.has_quit


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("events", "running"),
    [
        ([TurnStarted(turn=3)], "A turn is running."),
        (
            [JobStarted(job_id=JobId("job-1"), command="make serve", call_id=CallId("c"))],
            "1 background job is running.",
        ),
    ],
)
async def test_quitting_while_something_runs_is_asked_about_once(events: list[Payload], running: str) -> None:
    async def quit_by(driven: Driven, way: str) -> None:
        if way == "/quit":
            await driven.type(way)
        await driven.press("enter" if way == "/quit" else way)

    for way in ("ctrl+d", "ctrl+q", "/quit"):
        async with open_app(golden("night_shift")) as driven:
            driven.session.feed(*events)
            await driven.settle()
            await quit_by(driven, way)
            assert isinstance(driven.app.screen, QuitQuestion) and running in driven.text()
            assert "Ctrl+Q quit   Enter stay" in driven.text()
            end_grace_period(driven.app.screen)
            await driven.press("enter")
            assert len(driven.app.screen_stack) == 1
            assert not driven.app.has_quit and driven.session.submitted == []
            await quit_by(driven, way)
            await driven.press("ctrl+q" if way == "/quit" else way)
            assert driven.app.has_quit


async def test_going_back_to_the_chat_neither_scrolls_nor_uses_a_row_that_is_out_of_sight() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        assert driven.app.controller is not None
        chat = driven.app.controller.chat.widget
        assert chat is not None
        await driven.press("tab", "home", "tab")
        first = chat.cursor
        chat.go_to_end(1)
        chat.cursor = first
        await driven.pilot.pause()
        before = driven.rows()
        await driven.press("tab")
        assert chat.is_cursor_visible and chat.cursor != first
        await driven.press("up")
        assert [row[4:60] for row in driven.rows()[1:18]] == [row[4:60] for row in before[1:18]]


# -- the queue


async def test_up_takes_the_newest_queued_message_back_before_history() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/rename nights")
        await driven.press("enter")
        queued = [UserQueued(queue_id=RequestId(f"q{at}"), text=f"later {at}") for at in (1, 2)]
        driven.session.feed(TurnStarted(turn=3), *queued)
        await driven.settle()
        assert "Enter sends it now" in driven.text() and "Up edits or removes" in driven.text()
        for _ in range(2):  # read together: the second one comes before the engine has answered
            driven.app.prompt.editor.post_message(Key("up", None))
        await driven.pilot.pause()
        assert kinds(driven) == [Rename, Unqueue]
        assert driven.session.submitted[-1].queue_id == "q2"  # type: ignore[union-attr]
        assert driven.app.prompt.editor.text == "later 2"
        driven.session.feed(UserUnqueued(queue_id=RequestId("q2")))
        await driven.settle()
        assert "Up edits or removes" not in driven.text() and "later 1" in driven.text()
        driven.app.prompt.editor.put_text("")
        await driven.press("up")
        assert driven.session.submitted[-1].queue_id == "q1"  # type: ignore[union-attr]
        assert driven.app.prompt.editor.text == "later 1"
        driven.session.feed(UserUnqueued(queue_id=RequestId("q1")))
        await driven.settle()
        driven.app.prompt.editor.put_text("")
        await driven.press("up")
        assert driven.app.prompt.editor.text == "/rename nights"


async def test_an_edited_message_goes_back_to_its_place_in_the_queue() -> None:
    async with open_app(golden("night_shift")) as driven:
        queued = [UserQueued(queue_id=RequestId(f"q{at}"), text=f"later {at}") for at in (1, 2, 3)]
        driven.session.feed(TurnStarted(turn=3), *queued)
        await driven.settle()
        driven.app.do("unqueue", "2")
        await driven.until(lambda: driven.app.prompt.editor.text == "later 2")
        driven.session.feed(UserUnqueued(queue_id=RequestId("q2")))
        await driven.settle()
        await driven.type(", too")
        assert ("Enter", "queue again") in footer(
            driven
        ) and "this message goes back into the queue" in driven.text()
        await driven.press("enter")
        sent = driven.session.submitted[-1]
        assert isinstance(sent, Queue) and (sent.text, sent.place) == ("later 2, too", 1)
        again = UserQueued(queue_id=RequestId("q4"), text=sent.text, place=sent.place)
        driven.session.feed(again)
        await driven.settle()
        assert [message.queue_id for message in driven.app.controller.state.queue] == ["q1", "q4", "q3"]  # type: ignore[union-attr]
        await driven.type("now")
        assert ("Enter", "steer now") in footer(driven)


async def test_an_edited_message_waits_with_those_before_it_and_is_sent_once_they_are_gone() -> None:
    async with open_app(golden("night_shift")) as driven:
        queued = [UserQueued(queue_id=RequestId(f"q{at}"), text=f"later {at}") for at in (1, 2)]
        driven.session.feed(TurnStarted(turn=3), *queued, TurnFinished(turn=3, reason="interrupted"))
        await driven.settle()
        await driven.press("up")
        driven.session.feed(UserUnqueued(queue_id=RequestId("q2")))
        await driven.until(lambda: ("Enter", "queue again") in footer(driven))
        await driven.press("enter")
        sent = driven.session.submitted[-1]
        assert isinstance(sent, Queue) and sent.place == 1
        driven.session.feed(UserQueued(queue_id=RequestId("q3"), text="later 2", place=1))
        await driven.settle()
        await driven.press("up")
        await driven.until(lambda: ("Enter", "queue again") in footer(driven))
        driven.session.feed(*(UserUnqueued(queue_id=RequestId(name)) for name in ("q3", "q1")))
        await driven.settle()
        await driven.until(lambda: ("Enter", "send") in footer(driven))
        await driven.press("enter")
        assert isinstance(driven.session.submitted[-1], SubmitPrompt)


async def test_a_message_taken_back_keeps_its_pastes_folded_and_its_pictures() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        editor = driven.app.prompt.editor
        editor.insert("see ")
        editor.insert(editor.chips.fold(LINES))
        editor.insert(" and ")
        editor.insert_picture(NOWHERE / "shot.png")
        written = editor.text
        await driven.press("tab")
        first = driven.session.submitted[-1]
        assert isinstance(first, Queue) and LINES in first.text
        driven.session.feed(UserQueued(queue_id=RequestId("q1"), text=first.text))
        await driven.settle()
        await driven.press("up")
        assert editor.text == written == "see [pasted 30 lines] and [image shot.png] "
        await driven.press("enter")
        again = driven.session.submitted[-1]
        assert isinstance(again, Queue) and (again.text, again.attachments) == (first.text, first.attachments)
        assert len(again.attachments) == 1


async def test_a_message_taken_back_keeps_what_is_typed() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3), UserQueued(queue_id=RequestId("q1"), text="later"))
        await driven.settle()
        await driven.type("mine")
        driven.app.do("unqueue")
        await driven.pilot.pause()
        assert driven.app.prompt.editor.text == "later\nmine"


@pytest.mark.slow
async def test_ten_thousand_queued_messages_are_counted_and_the_newest_comes_back() -> None:
    async with open_app(golden("night_shift")) as driven:
        queued = [UserQueued(queue_id=RequestId(f"q{at}"), text=f"later {at}") for at in range(10_000)]
        driven.session.feed(TurnStarted(turn=3), *queued)
        await driven.settle()
        assert "+9997 more" in driven.text()
        await driven.press("up")
        assert driven.app.prompt.editor.text == "later 9999"


# -- letters, and the search


@pytest.mark.parametrize("text", ["/rename abc", "n is the first letter", "North"])
async def test_after_a_click_into_the_chat_letters_and_a_slash_go_to_the_prompt(text: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        await click_chat(driven)
        await driven.type(text)
        assert driven.app.prompt.editor.text == text and driven.app.prompt.editor.has_focus
        assert ("Up/Down", "choose") not in footer(driven) or driven.app.prompt.menu.display


async def test_keys_that_were_read_together_with_a_letter_follow_it_into_the_prompt() -> None:
    async with open_app(golden("night_shift")) as driven:
        await click_chat(driven)
        for key, character in (("slash", "/"), *((letter, letter) for letter in "rename"), ("space", " ")):
            driven.app.query_one("#transcript").post_message(Key(key, character))
        for key, character in (("x", "x"), ("enter", None)):
            driven.app.query_one("#transcript").post_message(Key(key, character))
        await driven.pilot.pause()
        assert kinds(driven) == [Rename]


async def test_the_footer_names_the_keys_of_what_has_the_focus() -> None:
    async with open_app(golden("night_shift")) as driven:
        assert footer(driven)[:2] == [("Enter", "send"), ("/", "commands")]
        await click_chat(driven)
        assert footer(driven)[:3] == [("Up/Down", "choose"), ("Enter", "fold or expand"), ("Tab", "message")]
        assert ("Enter", "send") not in footer(driven)
        await driven.press("tab")
        assert footer(driven)[:2] == [("Enter", "send"), ("/", "commands")]
        await click_chat(driven)
        await driven.press("escape")
        assert driven.app.prompt.editor.has_focus


async def test_while_a_turn_runs_esc_has_one_meaning_in_the_footer_of_a_search() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        await find(driven, "shift")
        assert [hint for hint in footer(driven) if hint[0] == "Esc"] == [("Esc", "close search")]
        await driven.press("escape")
        assert kinds(driven) == []
        await driven.press("escape")
        assert kinds(driven) == [Interrupt]


async def test_n_and_shift_n_go_through_the_matches_until_esc_closes_the_search() -> None:
    async with open_app(golden("night_shift")) as driven:
        widget = await find(driven, "shift")
        count = widget.finder.count
        assert widget.has_focus and count > 2
        assert footer(driven)[:2] == [("Shift+N/N", "previous, next"), ("Esc", "close search")]
        while not widget.find_place.startswith("1 of"):
            await driven.press("n")
        places = [widget.find_place]
        for key in ("n", "n", "N", "N", "N"):
            await driven.press(key)
            places.append(widget.find_place)
        assert places == [f"{number} of {count}" for number in (1, 2, 3, 2, 1, count)]
        assert f'"shift" {count} of {count}' in driven.text()
        await driven.press("escape")
        assert widget.find_place == "" and 'shift" ' not in driven.text()
        await driven.press("n")
        assert driven.app.prompt.editor.text == "n" and widget.find_place == ""


async def test_a_letter_leaves_the_search_open_and_n_is_then_a_letter() -> None:
    async with open_app(golden("night_shift")) as driven:
        widget = await find(driven, "shift")
        await driven.type("a new one")
        assert driven.app.prompt.editor.text == "a new one" and widget.find_place == "4 of 8"
        await driven.press("ctrl+f3")
        assert widget.find_place == "5 of 8"


@pytest.mark.parametrize("theme", ["night", "day"])
async def test_the_current_match_is_marked_unlike_the_others(theme: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.use_theme(theme)
        widget = await find(driven, "shift")

        def styles() -> list[Style]:
            rows = [widget.render_line(y) for y in range(widget.size.height)]
            matches = [segment for row in rows for segment in row if segment.text.lower() == "shift"]
            return [segment.style for segment in matches if segment.style is not None]

        marked = [style for style in styles() if style.reverse]
        assert len(marked) == 1 and len(styles()) > 1
        await driven.press("n")
        assert len([style for style in styles() if style.reverse]) == 1
        await driven.press("escape")
        assert not any(style.reverse or style.underline for style in styles())
