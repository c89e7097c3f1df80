"""Another session in place of the open one: what is sent meanwhile is meant for the new one, and nothing is lost."""

import asyncio
from collections.abc import Callable

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.errors import SessionLocked
from tui_agent.protocol.commands import Command, Rename, SubmitPrompt


async def until(driven: Driven, done: Callable[[], bool]) -> None:
    for _ in range(200):
        if done():
            return
        await driven.pilot.pause()
    raise AssertionError(driven.text())


def held_back(**options: object) -> FakeSession:
    """A session that opens when its gate does."""
    session = FakeSession(golden("night_shift"), session_id="ses_b", **options)  # type: ignore[arg-type]
    session.gate = asyncio.Event()
    return session


def said(commands: list[Command]) -> list[str]:
    return [one.text for one in commands if isinstance(one, SubmitPrompt)]


async def send(driven: Driven, text: str) -> None:
    await driven.type(text)
    await driven.press("escape", "enter") if text.startswith("/") else await driven.press("enter")


@pytest.mark.parametrize("way", ["/new", "/reset-session", "/session ses_b"])
async def test_a_message_that_is_sent_while_another_session_opens_goes_there(way: str) -> None:
    second = held_back()
    async with open_app(golden("night_shift")) as driven:
        driven.app.spawn = lambda _: second
        await send(driven, way)
        await send(driven, "my words")
        assert driven.session.submitted == [] and "your message goes out" in driven.text()
        await send(driven, "/rename nights")
        await driven.type("not yet")
        assert second.gate is not None
        second.gate.set()
        await until(driven, lambda: len(second.submitted) == 2)
        assert said(second.submitted) == ["my words"] and isinstance(second.submitted[1], Rename)
        assert said(driven.session.submitted) == []
        assert driven.app.prompt.editor.text == "not yet"


async def test_a_message_for_a_session_that_cannot_be_opened_comes_back_into_the_prompt() -> None:
    locked = held_back(failure=SessionLocked("Another process holds ses_b.", hint="Close it there."))
    async with open_app(golden("night_shift")) as driven:
        driven.app.spawn = lambda _: locked
        await send(driven, "/session ses_b")
        await send(driven, "my words")
        await driven.type("and more")
        assert locked.gate is not None
        locked.gate.set()
        await until(driven, lambda: driven.app.note.display)
        assert driven.app.prompt.editor.text == "my words\nand more"
        assert "opening" not in driven.app.status.view.word
        await driven.press("enter")
        assert said(driven.session.submitted) == ["my words\nand more"]


async def test_what_follows_a_switch_that_waited_waits_for_that_session_too() -> None:
    second, third = held_back(), held_back()
    coming = [second, third]
    async with open_app(golden("night_shift")) as driven:
        driven.app.spawn = lambda _: coming.pop(0)
        for text in ("/new", "/new", "for the third"):
            await send(driven, text)
        for session in (second, third):
            assert session.gate is not None
            session.gate.set()
            await until(driven, lambda opened=session: driven.app.live.session is opened)  # type: ignore[union-attr, misc]
        await until(driven, lambda: bool(third.submitted))
        assert said(third.submitted) == ["for the third"] and said(second.submitted) == []


async def test_two_messages_after_the_engines_death_open_the_session_once() -> None:
    second = held_back()
    opened: list[object] = []

    def spawn(options: object) -> FakeSession:
        opened.append(options)
        return second

    async with open_app(golden("night_shift")) as driven:
        driven.session.end()
        await driven.pilot.pause()
        driven.app.spawn = spawn
        await send(driven, "one")
        await send(driven, "two")
        assert second.gate is not None
        second.gate.set()
        await until(driven, lambda: len(second.submitted) == 2)
        assert len(opened) == 1 and driven.app.prompt.editor.text == ""
