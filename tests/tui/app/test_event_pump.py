"""The pump: order, frames, slices, and telling who waits."""

import asyncio
import time

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import golden, open_app
from tui_agent.folds.projection import fold
from tui_agent.folds.screen_folds import ViewName, Views
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.trace.fold import Trace
from tui_agent.protocol.envelope import Record, UnknownEvent
from tui_agent.protocol.events.model import ModelDelta
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.ids import AgentId, RequestId
from tui_agent.tui.controller.event_pump import Pump


async def run(
    session: FakeSession, frame_s: float = 1 / 30
) -> tuple[Pump, Views, list[frozenset[ViewName]], asyncio.Task[None]]:
    views, frames = Views(), list[frozenset[ViewName]]()
    pump = Pump(session.follow, views, frames.append, frame_s=frame_s)
    return pump, views, frames, asyncio.create_task(pump.run())


async def test_history_comes_in_few_frames_and_folds_as_it_does_elsewhere() -> None:
    records = golden("night_shift")
    session = FakeSession(records)
    pump, views, frames, task = await run(session)
    await pump.wait_until_shown(len(records) - 1)
    assert len(frames) == 1
    assert views.state.view() == fold(SessionState(), records)
    assert views.trace.view().spans == fold(Trace(), records).spans
    session.end()
    await task


async def test_a_burst_is_shown_in_frames_not_event_by_event() -> None:
    session = FakeSession(golden("streaming"))
    pump, _, frames, task = await run(session, frame_s=0.05)
    await pump.wait_until_shown(len(session.records) - 1)
    frames.clear()
    for number in range(200):
        session.feed(ModelDelta(request_id=RequestId("r"), part_kind="text", part_index=0, text=f"{number} "))
        await asyncio.sleep(0)
    await pump.wait_until_shown(len(session.records) - 1)
    assert 1 <= len(frames) < 50
    session.end()
    await task


async def test_who_waits_for_a_seq_is_told_when_it_is_shown_or_never_will_be() -> None:
    session = FakeSession(golden("night_shift"))
    pump, views, _, task = await run(session)
    await pump.wait_until_shown(10)
    waiting = asyncio.create_task(pump.wait_until_shown(10_000))
    await asyncio.sleep(0)
    assert not waiting.done()
    session.end()
    await waiting
    await task
    assert pump.ended and views.seq == len(session.records) - 1


async def test_an_event_from_the_future_is_passed_over() -> None:
    records = golden("night_shift")
    unknown = UnknownEvent(seq=len(records), time=1.0, agent=AgentId("main"), parent=None, kind="x.y", raw={})
    session = FakeSession([*records, unknown])
    pump, views, _, task = await run(session)
    await pump.wait_until_shown(len(records))
    assert views.seq == len(records)
    session.end()
    await task


@pytest.mark.slow_variants
@pytest.mark.parametrize("cut", [1, 20, 60, 93, 105, 140])
async def test_a_cut_log_opens_and_the_rest_arrives_live_to_the_same_screen(cut: int) -> None:
    records = golden("night_shift")
    async with open_app(records, size=(120, 40)) as driven:
        whole = driven.text()
    session = FakeSession(records[:cut])
    async with open_app(session=session, size=(120, 40)) as driven:
        session.records.extend(records[cut:])
        session.wake()
        driven.app.clock = lambda: records[-1].time + 1
        await driven.settle()
        driven.app.hide_notice()
        await driven.pilot.pause()
        controller = driven.app.controller
        assert controller is not None
        controller.chat.to_end()
        controller.panes.show_all()
        await driven.pilot.pause()
        assert driven.text() == whole


async def test_no_frame_shows_what_is_no_longer_on_the_branch() -> None:
    class Slow(Views):
        """Takes its time over a moved head, so that a frame is due before the branch is folded anew."""

        def apply(self, record: Record) -> None:
            super().apply(record)
            until = time.perf_counter() + (0.06 if self.head_moved else 0)
            while time.perf_counter() < until:
                pass

    session = FakeSession(golden("night_shift"))
    views, moved = Slow(), list[bool]()
    pump = Pump(session.follow, views, lambda _: moved.append(views.head_moved), frame_s=0.05)
    task = asyncio.create_task(pump.run())
    end = len(session.records) - 1
    await pump.wait_until_shown(end)
    session.feed(
        ModelDelta(request_id=RequestId("r"), part_kind="text", part_index=0, text="a frame is planned")
    )
    for _ in range(5):
        await asyncio.sleep(0)
    assert views.seq == end + 1
    late = ModelDelta(request_id=RequestId("r"), part_kind="text", part_index=0, text="and more")
    session.feed(SessionHeadMoved(to_seq=end - 5, from_seq=end + 1, reason="undo"), late, late)
    await pump.wait_until_shown(len(session.records) - 1)
    assert moved and not any(moved)
    session.end()
    await task
