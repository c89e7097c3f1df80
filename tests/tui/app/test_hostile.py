"""Foreign text anywhere on the screen: shown letter by letter, never obeyed, never hiding anything."""

import pytest
from rich.segment import Segment

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.errors import StoreError
from tui_agent.protocol.display_blocks import TerminalBlock
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.events.context import ContextPacked, Section
from tui_agent.protocol.events.policy import PermissionChoice, PermissionRequested
from tui_agent.protocol.events.session import CommandRejected, ErrorRaised, SessionTitled
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import QuestionAsked, TurnStarted, UserQueued
from tui_agent.protocol.ids import CallId, RequestId

HOSTILE = (
    "[bold]x[/bold][/a/b][@click=app.quit]go[/] \x1b[2J\x1b]0;pwned\x07\x1b[31mred \u202egnp.exe\u2066 "
    "\u200bzero\ud800 \x00\x07\x9b31m tab\there \r\nnext\u2028line é\u0301\u0301\u0301\u0301\u0301 漢字 👩‍👩‍👧"
)
BAD = [
    *(chr(code) for code in range(32)),
    *(chr(code) for code in range(0x7F, 0xA0)),
    "\u202e",
    "\u2066",
    "\u200b",
    "\ud800",
]


def harmless(driven: Driven) -> None:
    """No cell of the screen holds what a terminal would obey, and every row is as wide as the screen."""
    strips = driven.app.screen._compositor.render_strips()
    for strip in strips:
        text = "".join(segment.text for segment in strip)
        assert not [char for char in BAD if char in text], text
        assert Segment.get_line_length(strip) == driven.app.size.width, text


def call(number: int, name: str) -> ToolCalled:
    return ToolCalled(
        call_id=CallId(f"call_h{number}"),
        name=name,
        arguments={"x": HOSTILE},
        iteration=1,
        verb=HOSTILE,
        target=HOSTILE,
    )


@pytest.mark.parametrize("size", [(160, 45), (120, 40), (80, 24), (40, 8)])
async def test_titles_tasks_tools_notices_and_errors_are_harmless(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        driven.session.feed(
            SessionTitled(title=HOSTILE, titled_by="auto"),
            TodoUpdated(items=(TodoItem(id="1", content=HOSTILE, status="in_progress"),)),
            TurnStarted(turn=3),
            call(1, HOSTILE),
            ToolStarted(call_id=CallId("call_h1"), writes=False),
            ToolFinished(
                call_id=CallId("call_h1"),
                name=HOSTILE,
                status="failed",
                part=99,
                content=(),
                display=(TerminalBlock(text=HOSTILE),),
                summary=HOSTILE,
            ),
            CommandRejected(command=HOSTILE, reason=HOSTILE, hint=HOSTILE),
            ErrorRaised(where=HOSTILE, message=HOSTILE, hint=HOSTILE, detail=HOSTILE),
            UserQueued(queue_id=RequestId("q"), text=HOSTILE),
            ContextPacked(
                request_id=RequestId("r"),
                window=200_000,
                total_tokens=1000,
                total_chars=4000,
                sections=(Section(name="system", raw_chars=1, chars=1, tokens=1000),),
            ),
            call(2, "running"),
            ToolStarted(call_id=CallId("call_h2"), writes=False),
        )
        await driven.settle()
        harmless(driven)
        if size[1] >= 24:
            assert "[bold]x" in driven.text()


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 8), (20, 5)])
async def test_an_approval_shows_what_is_hidden(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        driven.session.feed(
            TurnStarted(turn=3),
            PermissionRequested(
                request_id=RequestId("p"),
                call_id=CallId("call_p"),
                tool=HOSTILE,
                verb=HOSTILE,
                target=HOSTILE,
                effects=(RunEffect(script=HOSTILE, cwd=HOSTILE),),
                digest="0" * 32,
                preview=(),
                choices=(
                    PermissionChoice(reach="session", rule=HOSTILE),
                    PermissionChoice(reach="always", rule="", offered=False, explanation=HOSTILE),
                ),
                risk=HOSTILE,
                reason=HOSTILE,
            ),
        )
        await driven.settle()
        harmless(driven)
        if size[1] >= 24:
            assert "<U+202E>gnp.exe" in driven.text() and "<U+001B>" in driven.text()


async def test_a_question_and_its_options_are_harmless() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(
            TurnStarted(turn=3),
            QuestionAsked(
                question_id=RequestId("q"), text=HOSTILE * 3, form="choice", options=(HOSTILE, "b")
            ),
        )
        await driven.settle()
        harmless(driven)


@pytest.mark.slow
async def test_every_sheet_and_the_trace_are_harmless() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(
            SessionTitled(title=HOSTILE, titled_by="auto"),
            TodoUpdated(items=tuple(TodoItem(id=str(at), content=HOSTILE) for at in range(20))),
            TurnStarted(turn=3),
            call(1, HOSTILE),
        )
        await driven.settle()
        for keys in (["f1"], ["f2"], ["f3"], ["f3", "j"], ["f4"], ["ctrl+p"]):
            await driven.press(*keys)
            harmless(driven)
            await driven.press(*(["escape"] * len(keys)))
            assert len(driven.app.screen_stack) == 1
        for line in ("/status", "/tools", "/plugins", "/cost"):
            await driven.type(line)
            await driven.press("enter")
            harmless(driven)
            await driven.press("escape")


async def test_an_error_on_opening_is_harmless() -> None:
    async with open_app(session=FakeSession(failure=StoreError(HOSTILE, hint=HOSTILE))) as driven:
        while "No session is open" not in driven.text():
            await driven.pilot.pause(0.01)
        harmless(driven)


async def test_a_line_of_ten_megabytes_keeps_the_app_alive() -> None:
    async with open_app(golden("night_shift")) as driven:
        huge = "x" * 10_000_000
        driven.session.feed(
            SessionTitled(title=huge, titled_by="auto"), TodoUpdated(items=(TodoItem(id="1", content=huge),))
        )
        await driven.settle()
        harmless(driven)
        await driven.type("ok")
        assert driven.app.prompt.editor.text == "ok"
