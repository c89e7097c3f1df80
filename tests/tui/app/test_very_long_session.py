"""A session with more entries than are laid out at once: everything is there when it is wanted."""

import asyncio
import re
from functools import cache

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, open_app
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.tui.controller.chat import ChatWidget
from tui_agent.tui.transcript.layout import MAX_UNWINDOWED_ENTRIES, WINDOW_ENTRIES

TURNS = MAX_UNWINDOWED_ENTRIES // 2 + 1_000


def _very_long() -> FakeSession:
    return FakeSession(_records())


@cache
def _records() -> list[Record]:
    session = FakeSession()
    for turn in range(1, TURNS + 1):
        session.feed(UserMessageReceived(text=f"question number {turn}"))
        session.feed(TurnStarted(turn=turn))
        session.feed(TurnFinished(turn=turn, reason="interrupted", duration_ms=1.0))
    return session.records


def _widget(driven: Driven) -> ChatWidget:
    controller = driven.app.controller
    assert controller is not None and controller.chat.widget is not None
    return controller.chat.widget


def _questions(driven: Driven) -> list[str]:
    return re.findall(r"question number \d+", driven.text())


@pytest.mark.slow
async def test_its_end_is_laid_out_first_and_its_beginning_when_it_is_wanted() -> None:
    async with open_app(session=_very_long()) as driven:
        widget = _widget(driven)
        assert f"question number {TURNS}" in driven.text()
        assert WINDOW_ENTRIES <= len(widget.viewport.layout) <= WINDOW_ENTRIES + 2
        shown = driven.text()
        widget.go_to_end(-1)
        await driven.pilot.pause(0)
        assert driven.text() == shown and len(widget.viewport.layout) < 2 * TURNS
        await driven.type("typed")
        assert driven.app.prompt.editor.text == "typed"
        while len(widget.viewport.layout) < 2 * TURNS:
            await driven.pilot.pause(0.01)
        await driven.pilot.pause()
        assert f"question number {TURNS}" not in driven.text()
        assert "question number 1 " in driven.text()
        assert len(widget.viewport.layout) == 2 * TURNS
        widget.go_to_end(1)
        await driven.pilot.pause()
        assert f"question number {TURNS}" in driven.text()


@pytest.mark.slow
async def test_scrolling_up_lays_out_more_and_what_is_read_stays() -> None:
    async with open_app(session=_very_long()) as driven:
        widget = _widget(driven)
        widget.viewport.scroll_to(3 * widget.viewport.height)
        widget.repaint()
        await driven.pilot.pause()
        before = len(widget.viewport.layout)
        reached = _questions(driven)
        widget.action_page(-1)
        widget.action_page(-1)
        widget.action_page(1)
        widget.action_page(1)
        await driven.pilot.pause()
        assert len(widget.viewport.layout) > before
        assert _questions(driven) == reached


@pytest.mark.slow
async def test_an_event_of_long_ago_can_be_gone_to_and_words_of_it_found() -> None:
    async with open_app(session=_very_long()) as driven:
        controller = driven.app.controller
        assert controller is not None
        controller.chat.show_seq(3 * 500)
        while f"question number {TURNS}" in driven.text():
            await driven.pilot.pause(0.01)
        assert "question number 501" in driven.text()
        controller.chat.find("question number 77")
        while '"question number 77" ' not in driven.text():
            await asyncio.sleep(0)
            await driven.pilot.pause()
        controller.chat.to_end()
        await driven.pilot.pause()
        assert f"question number {TURNS}" in driven.text()


@pytest.mark.slow
async def test_what_comes_is_shown_below() -> None:
    session = _very_long()
    async with open_app(session=session) as driven:
        session.feed(UserMessageReceived(text="one more"))
        await driven.settle()
        assert "one more" in driven.text()


@pytest.mark.slow
async def test_what_comes_and_changes_while_all_is_laid_out_is_in_it() -> None:
    session = _very_long()
    async with open_app(session=session) as driven:
        widget = _widget(driven)
        controller = driven.app.controller
        assert controller is not None
        reaching = asyncio.create_task(widget.extend_to(0))
        await asyncio.sleep(0)
        assert not reaching.done()
        session.feed(UserMessageReceived(text="one more"), TurnStarted(turn=TURNS + 1))
        await driven.settle()
        await reaching
        await driven.pilot.pause()
        entries = controller.views.transcript.view().entries
        layout = widget.viewport.layout
        assert len(layout) == len(entries) == 2 * TURNS + 1 and "one more" in driven.text()
        assert [slot.id for slot in layout.slots] == [entry.id for entry in entries]
        assert [layout.entry(index).revision for index in range(len(layout))] == [
            entry.revision for entry in entries
        ]


@pytest.mark.slow
async def test_who_goes_elsewhere_while_all_is_laid_out_stays_there() -> None:
    async with open_app(session=_very_long()) as driven:
        widget = _widget(driven)
        widget.go_to_end(-1)
        widget.action_page(-1)
        widget.action_page(-1)
        await driven.pilot.pause(0)
        held = widget.viewport.position
        while len(widget.viewport.layout) < 2 * TURNS:
            await driven.pilot.pause(0.01)
        await driven.pilot.pause()
        assert held is not None and widget.viewport.position == held
