"""A very long session is shown and used from its end at once; the whole of it takes its place when it is folded."""

import asyncio
from collections.abc import Sequence
from copy import deepcopy
from functools import cache

import pytest

from tests.stubs.fake_session import FakeFollower, FakeSession
from tests.stubs.story import responded
from tests.tui.app.driving import Driven, golden, open_app
from tests.unit.folds.test_begun import kept_of
from tui_agent.folds.session.snapshot import Snapshot
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.session import SessionStarted, SessionTitled
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.tui.controller.session_switcher import VERY_LONG_SESSION_EVENTS
from tui_agent.tui.modals.picker import Picker
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.screens.trace.screen import TraceScreen

MODEL = ModelInfo(profile="fake", provider="fake", model="fake-model", window=10_000)
TURNS = VERY_LONG_SESSION_EVENTS // 3 + 50


@cache
def _history(first: tuple[Payload, ...]) -> tuple[list[Record], Snapshot]:
    """The records of the session, with `first` at their beginning, and what an engine keeps of them; made once."""
    session = FakeSession()
    session.feed(SessionStarted(workspace="/w", product="test", settings=SessionSettings(model=MODEL)))
    session.feed(SessionTitled(title="A long day", titled_by="user"))
    session.feed(*first)
    for turn in range(1, TURNS + 1):
        _feed_turn(session, turn)
    kept = kept_of(session.records)
    assert kept is not None
    return session.records, kept


def _feed_turn(session: FakeSession, number: int) -> None:
    session.feed(UserMessageReceived(text=f"question number {number}"))
    session.feed(TurnStarted(turn=number))
    session.feed(TurnFinished(turn=number, reason="finished", duration_ms=1.0))


class _SlowFollower(FakeFollower):
    """History waits for its event; what is live does not."""

    async def next_batch(self) -> Sequence[Record]:
        if self.position == 0:
            session = self.session
            assert isinstance(session, _LongSession)
            await session.read.wait()
        return await super().next_batch()


class _LongSession(FakeSession):
    """So long that its history is not read before `read` is set."""

    def __init__(self, *first: Payload) -> None:
        records, kept = _history(first)
        super().__init__(records)
        self.read = asyncio.Event()
        self.standing = (records[-1].seq, deepcopy(kept))

    def turn(self, number: int) -> None:
        _feed_turn(self, number)

    def follow(self, after: int = -1) -> FakeFollower:
        follower = _SlowFollower(self, after)
        self.followers.append(follower)
        return follower


async def _whole(driven: Driven, session: _LongSession) -> None:
    controller = driven.app.controller
    assert controller is not None
    session.read.set()
    while len(controller.views.transcript.view().entries) < 2 * TURNS:
        await driven.pilot.pause(0.01)
    await driven.settle()


@pytest.mark.slow
async def test_its_end_is_shown_with_its_title_and_a_message_is_sent_before_the_rest_is_read() -> None:
    session = _LongSession()
    async with open_app(session=session) as driven:
        controller = driven.app.controller
        assert controller is not None and not controller.sessions.under_way
        assert f"question number {TURNS}" in driven.text() and "A long day" in driven.text()
        assert controller.state.turn == TURNS and controller.has_model
        await driven.type("and now")
        await driven.press("enter")
        assert [type(one) for one in session.submitted] == [SubmitPrompt]
        session.turn(TURNS + 1)
        await driven.settle()
        assert f"question number {TURNS + 1}" in driven.text()
        assert len(controller.views.transcript.view().entries) < 300
        await _whole(driven, session)
        assert f"question number {TURNS + 1}" in driven.text()
        assert controller.state.turn == TURNS + 1
        session.turn(TURNS + 2)
        await driven.settle()
        assert f"question number {TURNS + 2}" in driven.text()
        assert driven.app.query("ChatWidget").results


@pytest.mark.slow
async def test_what_is_read_stays_in_place_when_the_whole_comes() -> None:
    session = _LongSession()
    async with open_app(session=session) as driven:
        controller = driven.app.controller
        assert controller is not None and controller.chat.widget is not None
        controller.chat.scroll_pages(-1)
        controller.chat.scroll_pages(-1)
        await driven.pilot.pause()
        before = [row[:60] for row in driven.rows() if "question number" in row]
        assert before and f"question number {TURNS}" not in driven.text()
        await _whole(driven, session)
        assert [row[:60] for row in driven.rows() if "question number" in row] == before


@pytest.mark.slow
async def test_copy_waits_for_the_whole_if_its_end_has_no_answer() -> None:
    session = _LongSession(responded("r1", "Said long ago."))
    async with open_app(session=session) as driven:
        copied: list[str] = []
        driven.app.copy_text = copied.append  # type: ignore[method-assign]
        driven.app.do("copy")
        await driven.pilot.pause(0.1)
        assert copied == [] and not driven.app.notice.display
        session.read.set()
        await driven.until(lambda: copied)
        assert copied == ["Said long ago."]


@pytest.mark.slow
async def test_without_a_kept_fold_the_whole_is_waited_for() -> None:
    session = _LongSession()
    session.standing = None
    session.read.set()
    async with open_app(session=session) as driven:
        await _whole(driven, session)
        assert f"question number {TURNS}" in driven.text()
        session.turn(TURNS + 1)
        await driven.settle()
        assert f"question number {TURNS + 1}" in driven.text()


@pytest.mark.slow
async def test_another_session_can_be_opened_before_the_whole_is_read() -> None:
    session = _LongSession()
    async with open_app(session=session) as driven:
        controller = driven.app.controller
        assert controller is not None
        driven.app.spawn = lambda _: FakeSession(golden("night_shift"))
        await controller.sessions.open(driven.app.options)
        session.read.set()
        await driven.pilot.pause()
        await driven.pilot.pause()
        assert controller.session is not session and "question number" not in driven.text()


@pytest.mark.slow
async def test_the_status_line_says_how_much_is_still_to_be_read() -> None:
    session = _LongSession()
    async with open_app(session=session) as driven:
        controller = driven.app.controller
        assert controller is not None
        assert "ready  loading the earlier part, 100 % left" in driven.text()
        await _whole(driven, session)
        assert "loading the earlier part" not in driven.text()


@pytest.mark.slow
async def test_what_can_be_gone_back_to_says_what_is_missing_and_takes_it_in() -> None:
    session = _LongSession()
    async with open_app(session=session) as driven:
        controller = driven.app.controller
        assert controller is not None
        controller.act("revert")
        await driven.pilot.pause()
        picker = driven.app.screen
        assert isinstance(picker, Picker)
        assert picker.items[0].label == f"question number {TURNS}" and len(picker.items) < 300
        assert not picker.items[-1].offered and "loading the earlier part" in picker.items[-1].label
        await _whole(driven, session)
        assert len(picker.items) == TURNS and picker.items[-1].label == "question number 1"


@pytest.mark.slow
async def test_words_are_looked_for_once_all_is_known() -> None:
    session = _LongSession()
    async with open_app(session=session) as driven:
        controller = driven.app.controller
        assert controller is not None
        controller.chat.find("question number 17")
        await driven.pilot.pause()
        assert "/find starts when the whole session is loaded" in driven.text()
        await _whole(driven, session)
        while '"question number 17" ' not in driven.text():
            await driven.pilot.pause(0.01)


@pytest.mark.slow
async def test_figures_of_the_newest_part_say_so_and_those_of_the_whole_do_not() -> None:
    session = _LongSession()
    async with open_app(session=session) as driven:
        controller = driven.app.controller
        assert controller is not None
        for name in ("cost", "status", "diff", "trace"):
            controller.act(name)
            await driven.pilot.pause()
            assert "loading the earlier part, 100 % left" in driven.text(), name
            await driven.press("escape" if name != "trace" else "right")
        screen = driven.app.screen
        assert isinstance(screen, TraceScreen) and len(screen.spans.view.roots) < 300
        await _whole(driven, session)
        screen.follow()
        await driven.pilot.pause()
        assert len(screen.spans.view.roots) == TURNS and "loading the earlier part" not in driven.text()
        await driven.press("escape")
        for name in ("cost", "status", "diff"):
            controller.act(name)
            await driven.pilot.pause()
            assert (
                isinstance(driven.app.screen, Viewer) and "loading the earlier part" not in driven.text()
            ), name
            await driven.press("escape")
