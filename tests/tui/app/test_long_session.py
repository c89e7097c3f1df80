"""A long session: its end at once, then the whole of it in the same place."""

import asyncio

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import golden, open_app
from tui_agent.errors import SessionLocked
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.tui.controller.session_switcher import LONG_SESSION_EVENTS


def _long() -> FakeSession:
    session = FakeSession(golden("night_shift"))
    for turn in range(3, LONG_SESSION_EVENTS // 3 + 20):
        session.feed(UserMessageReceived(text=f"question number {turn}"))
        session.feed(TurnStarted(turn=turn))
        session.feed(TurnFinished(turn=turn, reason="finished"))
    return session


async def test_a_long_session_ends_up_whole_with_no_glimpse_left() -> None:
    session = _long()
    async with open_app(session=session) as driven:
        controller = driven.app.controller
        assert controller is not None and controller.chat.widget is not None
        await driven.settle()
        assert f"question number {LONG_SESSION_EVENTS // 3 + 19}" in driven.text()
        entries = controller.chat.entries
        assert len(entries) > 900
        assert not [widget for widget in driven.app.query("#preview") if widget.display]
        controller.chat.widget.scroll_to_entry(entries[0].id)
        await driven.pilot.pause()
        assert "question number" not in driven.text()


async def test_the_glimpse_shows_the_newest_talk_while_history_is_read() -> None:
    session = _long()
    async with open_app(golden("night_shift")) as driven:
        controller = driven.app.controller
        assert controller is not None
        await controller.chat.show_preview(session.records[-300:])
        await driven.pilot.pause()
        assert f"question number {LONG_SESSION_EVENTS // 3 + 19}" in driven.text()
        controller.chat.show()
        await driven.pilot.pause()
        assert "question number" not in driven.text()


async def test_a_session_that_cannot_be_opened_leaves_no_glimpse() -> None:
    session = _long()
    session.gate = asyncio.Event()
    async with open_app(session=session) as driven:
        while not driven.app.query("#preview"):
            await driven.pilot.pause(0.01)
        session.failure = SessionLocked("Another process has this session.")
        session.gate.set()
        while driven.app.query("#preview"):
            await driven.pilot.pause(0.01)
        assert "Another process has this session." in driven.text()
