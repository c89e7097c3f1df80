"""The replay on the screen: every moment, every key, the mouse, and what can be begun from there."""

import random

import pytest

from tests.golden.make import LOGS
from tests.tui.app.driving import Driven, golden, open_app
from tests.tui.app.replaying import Replayed, open_replay
from tui_agent.folds.replay_cursor import KEYFRAME_INTERVAL, views_at
from tui_agent.folds.trace.timeline import build_timeline
from tui_agent.protocol.commands import PlanRevert, Revert
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived
from tui_agent.tui.screens.replay.live_log import FollowingScreen
from tui_agent.tui.screens.replay.playhead import SPEEDS
from tui_agent.tui.screens.replay.screen import ReplayScreen
from tui_agent.units import format_cost

NIGHT = golden("night_shift")


async def fresh(records: list[Record], seq: int, size: tuple[int, int]) -> str:
    """The screen of a replay that was opened right there."""
    async with open_replay(records, size=size, to_seq=seq) as shown:
        return shown.text()


def told(shown: Replayed) -> str:
    """The state row of the line."""
    return next(row for row in shown.rows() if " of 196" in row)


async def test_it_opens_at_the_last_event_and_at_the_event_that_is_asked_for() -> None:
    async with open_replay(NIGHT, size=(160, 45)) as shown:
        assert "event 196 of 196" in told(shown) and "1:16 of 1:16" in told(shown)
        assert "REPLAY" in shown.rows()[0] and "read only: runs no model and no tools" in shown.rows()[0]
    async with open_replay(NIGHT, size=(160, 45), to_seq=150) as shown:
        text = shown.text()
        assert "event 150 of 196" in text and "part 41" in text
        assert "[>] Add tests and run them" in text and "3/5 done" in text
        assert "$0.086 of $0.097" in shown.rows()[0]
        assert "✗ run pytest -q" in text and "FAILED tests/test_report.py" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("log", "size"),
    [
        *(("night_shift", size) for size in ((160, 45), (120, 40), (80, 24))),
        ("streaming", (120, 40)),
        ("approval", (80, 24)),
    ],
)
async def test_the_screen_depends_on_the_event_alone_whichever_way_led_there(
    log: str, size: tuple[int, int]
) -> None:
    records, expected = golden(log), dict[int, str]()
    async with open_replay(records, size=size) as shown:
        for seq in (100, 60, 61, 62, 20, 110, 45, 46, 47, 46, 45, 3, 118):
            shown.screen.move_to(seq)
            shown.screen.chat.scroll_to_end()
            if seq not in expected:
                expected[seq] = await fresh(records, seq, size)
            await shown.until_shows(expected[seq])


def panes(shown: Replayed) -> dict[str, object]:
    """What the panes hold, each by itself."""
    screen = shown.screen
    trace = screen.sidebar.trace
    assert trace is not None
    return {
        "chat": [(entry.id, entry.revision) for entry in screen.chat._entries],
        "todo": (screen.sidebar.todo, screen.pane_strip.todo),
        "trace": (trace.spans, trace.roots, trace.failed, trace.denied),
        "context": (screen.sidebar.meter, screen.header.meter),
        "cost": (screen.header.state.totals if screen.header.state else None, screen.header.total_cost),
        "files": screen.pane_strip.files,
        "part": screen.pane.head.part,
        "seq": (screen.seq, screen.pane.head.seq, screen.pane.head.kind),
    }


def folded(records: list[Record], seq: int) -> dict[str, object]:
    """The same from a fresh fold of the log up to this event."""
    views, whole = views_at(records, seq), views_at(records, records[-1].seq)
    trace, state = views.trace.view(), views.state.view()
    return {
        "chat": [(entry.id, entry.revision) for entry in views.transcript.view().entries],
        "todo": (views.todo.view(), views.todo.view()),
        "trace": (trace.spans, trace.roots, trace.failed, trace.denied),
        "context": (views.meter.view(), views.meter.view()),
        "cost": (
            state.totals,
            format_cost(whole.metrics.view().cost_usd, whole.metrics.view().cost_precision, short=True),
        ),
        "files": views.files.view(),
        "part": max(0, state.parts - 1),
        "seq": (seq, seq, views.last_kind),
    }


@pytest.mark.slow
@pytest.mark.parametrize("log", LOGS)
async def test_every_pane_is_what_a_fresh_fold_gives_at_that_event(log: str) -> None:
    records = golden(log)
    jumps = random.Random(log)
    async with open_replay(records, size=(160, 45)) as shown:
        for seq in (jumps.randrange(len(records)) for _ in range(20)):
            shown.screen.move_to(seq)
            await shown.pilot.pause()
            while shown.screen.chat._delayed is not None:
                await shown.pilot.pause(0.01)
            assert panes(shown) == folded(records, seq), seq
            await shown.press("d")
            text = shown.text()
            assert f"Files at event {seq}" in text
            for one in views_at(records, seq).files.view().files:
                assert one.path in text
            await shown.press("escape")


async def test_letters_mean_the_same_with_shift() -> None:
    async with open_replay(golden("every_kind"), size=(160, 45)) as shown:
        for key in ("d", "D", "shift+d"):
            await shown.press(key)
            assert "Files at event" in shown.text(), key
            await shown.press("escape")
            assert "Files at event" not in shown.text()
        await shown.press("C")
        assert "Copied " in shown.text()


async def test_keys_go_by_event_part_turn_marker_and_tenth() -> None:
    line = build_timeline(NIGHT)
    async with open_replay(NIGHT, to_seq=150) as shown:

        def at() -> int:
            return shown.screen.playhead.place

        await shown.press("left", "left", "right")
        assert at() == 149
        await shown.press("shift+right")
        assert at() == next(one for one in line.parts if one > 149)
        await shown.press("shift+left", "shift+left")
        assert at() in line.parts and at() < 149
        await shown.press("ctrl+left")
        assert at() == line.turns[1]
        await shown.press("ctrl+left", "ctrl+left")
        assert at() == 0
        await shown.press("right_square_bracket")
        assert at() == line.markers[0].place
        await shown.press("end", "left_square_bracket")
        assert at() == line.markers[-1].place
        await shown.press("5")
        assert at() == line.place_at(line.length / 2)
        await shown.press("home")
        assert at() == 0 and "event 0 of 196" in told(shown)


async def test_it_plays_at_a_speed_and_stops_at_the_end() -> None:
    async with open_replay(NIGHT, to_seq=150) as shown:
        await shown.press("plus", "plus")
        assert "4x paused" in told(shown)
        await shown.press("space")
        assert "▸ 4x" in told(shown)
        head, before = shown.screen.playhead, shown.screen.playhead.place
        assert head.pass_time(1.0)
        assert head.place == head.line.place_at(head.line.clock[before] + 4.0)
        head.pass_time(1_000.0)
        assert head.place == head.last and not head.playing
        shown.screen.show_place()
        await shown.pilot.pause()
        assert "paused" in told(shown)


async def test_a_press_and_a_drag_on_the_line_move_the_head() -> None:
    async with open_replay(NIGHT, size=(120, 40)) as shown:
        y = next(at for at, row in enumerate(shown.rows()) if "●" in row and "━━━" in row)
        await shown.pilot.mouse_down(offset=(2, y))
        await shown.pilot.pause()
        first = shown.screen.playhead.place
        await shown.pilot.hover(offset=(60, y))
        await shown.pilot.pause()
        middle = shown.screen.playhead.place
        await shown.pilot.mouse_up(offset=(117, y))
        await shown.pilot.click(offset=(117, y))
        await shown.pilot.pause()
        assert first < middle < shown.screen.playhead.place == 196


async def test_a_text_is_found_in_events_forth_and_back() -> None:
    async with open_replay(NIGHT, to_seq=0) as shown:
        await shown.press("slash")
        assert "Enter find   Esc cancel" in shown.text() and "Space play" not in shown.text()
        await shown.press("escape")
        assert "Space play" in shown.text()
        await shown.press("slash", *"negative", "enter")
        await shown.app.workers.wait_for_complete()
        await shown.pilot.pause()
        first = shown.screen.playhead.place
        assert first > 0
        await shown.press("n")
        await shown.app.workers.wait_for_complete()
        assert shown.screen.playhead.place > first
        await shown.press("slash", *"qqqq", "enter")
        await shown.app.workers.wait_for_complete()
        await shown.pilot.pause()
        assert 'No event contains "negativeqqqq"' in shown.text()


async def test_a_search_wraps_around_and_goes_back() -> None:
    async with open_replay(NIGHT) as shown:  # at the last event
        places, wrapped = [], "Search continued at the beginning. N next match, Shift+N previous"
        for keys in (["slash", *"negative", "enter"], ["n"], ["N"], ["N"]):
            await shown.press(*keys)
            await shown.app.workers.wait_for_complete()
            await shown.pilot.pause()
            places.append(shown.screen.playhead.place)
            if len(places) == 1:
                await shown.until(lambda: wrapped in shown.text())
        first, second, third, last = places
        assert first == third < second < last < 196
        await shown.until(lambda: "Search continued at the end." in shown.text())
        await shown.press("home")
        assert "Search continued" not in shown.text()


async def test_what_cannot_be_done_is_not_offered() -> None:
    async with open_replay(NIGHT, size=(160, 45), to_seq=150) as shown:
        assert "F fork" in shown.rows()[-1] and "revert" not in shown.rows()[-1]
        await shown.press("r", "f1")
        assert (
            "revert the open session to here" not in shown.text()
            and "go to the previous or next event" in shown.text()
        )


@pytest.mark.slow
async def test_small_screens_show_the_other_panes_in_place_of_the_chat() -> None:
    async with open_replay(NIGHT, size=(80, 24), to_seq=150) as shown:
        assert "[>] Add tests" not in shown.text()
        await shown.press("f3")
        assert "[>] Add tests" in shown.text() and "Context" in shown.text()
        await shown.press("f3", "d")
        assert "Files at event 150" in shown.text() and "src/timesheet/entry.py" in shown.text()


async def test_esc_closes_the_panes_of_a_small_screen_before_the_replay() -> None:
    async with open_replay(NIGHT, size=(80, 24), to_seq=150) as shown:
        chat, replay = shown.text(), shown.app.screen
        await shown.press("f3")
        assert "…" not in shown.text().split("Todo")[0].partition("\n")[2]
        assert "Esc close panes" in shown.rows()[-1]
        await shown.press("escape")
        assert shown.text() == chat and shown.app.screen is replay and "Esc back" in shown.rows()[-1]


async def test_f2_shows_every_task_as_it_was_then_on_a_small_screen_too() -> None:
    async with open_replay(NIGHT, size=(80, 24), to_seq=150) as shown:
        await shown.press("f2")
        assert shown.screen.views is not None
        items = shown.screen.views.todo.view().items
        assert "Todo at event 150" in shown.text() and "more" not in shown.text()
        assert len(items) > 2 and all(item.content[:30] in shown.text() for item in items)


async def test_in_the_app_it_opens_over_the_session_and_esc_comes_back() -> None:
    async with open_app(NIGHT) as driven:
        await driven.type("/replay 150")
        await driven.press("enter")
        screen = driven.app.screen
        assert isinstance(screen, ReplayScreen)
        while not screen.ready:
            await driven.pilot.pause(0.01)
        await driven.pilot.pause()
        assert "event 150 of 196" in driven.text() and "V revert here   Esc back" in driven.text()
        driven.session.feed(TurnStarted(turn=3))
        await driven.press("left")
        assert "event 149 of 19" in driven.text()
        await driven.press("escape")
        assert len(driven.app.screen_stack) == 1 and driven.session.submitted == []


async def test_esc_on_how_to_go_back_comes_back_to_the_replay_and_going_leaves_it() -> None:
    async with open_app(NIGHT) as driven:
        screen = await replaying(driven, "/replay 150")
        await driven.press("v")
        await driven.until(lambda: "Revert to" in driven.text())
        await driven.press("escape")
        assert driven.app.screen is screen and "event 150 of 196" in driven.text()
        await driven.press("v")
        await driven.until(lambda: "Revert to" in driven.text())
        await driven.press("enter")
        await driven.until(lambda: len(driven.app.screen_stack) == 1)
        gone = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert [one.to_seq for one in gone] == [150]


async def replaying(driven: Driven, words: str) -> ReplayScreen:
    """The replay that these words open, once it stands at its first moment."""
    await driven.type(words)
    await driven.press("enter")
    screen = driven.app.screen
    assert isinstance(screen, ReplayScreen)
    while not screen.ready:
        await driven.pilot.pause(0.01)
    await driven.pilot.pause()
    return screen


async def caught_up(driven: Driven, screen: ReplayScreen) -> None:
    """The replay has taken in what the session was fed."""
    while screen.moments.records[-1].seq < driven.session.records[-1].seq:
        await driven.pilot.pause(0.01)
    await driven.pilot.pause()


async def test_at_its_end_a_replay_of_the_open_session_goes_on_with_it() -> None:
    async with open_app(NIGHT[:120], size=(160, 45)) as driven:
        screen = await replaying(driven, "/replay")
        assert "event 119 of 119" in driven.text() and "$0.086 of" not in driven.text()
        for until in (140, 151):
            driven.session.records.extend(NIGHT[len(driven.session.records) : until])
            driven.session.wake()
            await caught_up(driven, screen)
            assert f"event {until - 1} of {until - 1}" in driven.text()
        assert "$0.086 of $0.086" in driven.rows()[0] and "✗ run pytest -q" in driven.text()
        assert screen.playhead.line == build_timeline(NIGHT[:151])


@pytest.mark.slow
async def test_elsewhere_a_replay_of_the_open_session_stays_and_only_its_line_grows() -> None:
    async with open_app(NIGHT[:151], size=(160, 45)) as driven:
        screen = await replaying(driven, "/replay 60")
        chat = [row[:100] for row in driven.rows()[1:36]]
        driven.session.records.extend(NIGHT[151:])
        driven.session.wake()
        await caught_up(driven, screen)
        assert "event 60 of 196" in driven.text()
        assert [row[:100] for row in driven.rows()[1:36]] == chat
        await driven.press("end")
        assert "event 196 of 196" in driven.text()


async def test_a_replay_of_the_open_session_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read, really = [], FollowingScreen._read

    async def counted(screen: FollowingScreen) -> None:
        read.append(screen)
        await really(screen)

    monkeypatch.setattr(FollowingScreen, "_read", counted)
    async with open_app(NIGHT[:120], size=(160, 45)) as driven:
        screen = await replaying(driven, "/replay 60")
        assert read == [screen]


async def test_a_replay_that_plays_goes_on_playing_while_the_session_grows() -> None:
    async with open_app(NIGHT[:151], size=(160, 45)) as driven:
        screen = await replaying(driven, "/replay 60")
        screen.playhead.change_speed(-len(SPEEDS))  # it is not to be at its end before the session grows
        await driven.press("space")
        played = screen.playhead.seconds
        driven.session.records.extend(NIGHT[151:])
        driven.session.wake()
        await caught_up(driven, screen)
        assert screen.playhead.playing and screen.playhead.seconds >= played


async def test_in_the_app_the_session_goes_back_to_the_event_that_is_shown() -> None:
    async with open_app(NIGHT) as driven:
        driven.app.do("replay", "60")
        await driven.pilot.pause()
        screen = driven.app.screen
        assert isinstance(screen, ReplayScreen)
        while not screen.ready:
            await driven.pilot.pause(0.01)
        await driven.press("r")
        await driven.pilot.pause()
        assert "Revert to event 60" in driven.text()
        await driven.press("enter")
        await driven.pilot.pause()
        asked = [one for one in driven.session.submitted if isinstance(one, Revert | PlanRevert)]
        assert [(type(one), one.to_seq) for one in asked] == [(PlanRevert, 60), (Revert, 60)]


async def test_an_event_that_is_not_there_is_said() -> None:
    async with open_app(NIGHT) as driven:
        await driven.type("/replay 9999")
        await driven.press("enter")
        assert "/replay needs the number of an event, up to 196." in driven.text()


@pytest.mark.slow
async def test_a_key_in_a_long_session_folds_a_bounded_number_of_events() -> None:
    records: list[Record] = []
    async with open_app(NIGHT) as driven:
        for number in range(3, 3_000):
            driven.session.feed(UserMessageReceived(text=f"Message {number}"))
        records = list(driven.session.records)
    async with open_replay(records) as shown:
        for keys in (("left",), ("5",), ("left",), ("home",), ("end",)):
            before = shown.screen.moments.folded_count
            await shown.press(*keys)
            assert shown.screen.moments.folded_count - before <= KEYFRAME_INTERVAL
        assert shown.screen.views is not None
        wanted = views_at(records, records[-1].seq).state.view()
        assert shown.screen.views.state.view() == wanted
