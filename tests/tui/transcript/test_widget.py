"""The transcript under keys and mouse: following, folding, selecting, finding, and what it tells the app."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from textual.geometry import Region
from textual.pilot import Pilot

from tests.stubs.quick_pilot import piloted
from tests.tui.transcript.samples import AT, Samples, TranscriptApp, every_state, night_shift
from tui_agent.folds.transcript.entries import TranscriptView
from tui_agent.protocol.display_blocks import TerminalBlock, TextBlock
from tui_agent.protocol.stored_text import BlobText
from tui_agent.tui.theme.glyphs import UNICODE
from tui_agent.tui.theme.theme import Palette, bundled_folder, load_theme
from tui_agent.tui.transcript.canvas import Pace
from tui_agent.tui.transcript.tool_rows import QUICK_S
from tui_agent.tui.transcript.transcript_messages import BlobWanted, EntryAction, LinkClicked, TextSelected
from tui_agent.tui.transcript.viewport import ScreenLine
from tui_agent.tui.transcript.widget import TranscriptWidget


@asynccontextmanager
async def running(
    samples: Samples, size: tuple[int, int] = (82, 24), **more: Any
) -> AsyncIterator[tuple[TranscriptApp, Pilot[None]]]:
    app = TranscriptApp(samples.entries, **more)
    async with piloted(app, size) as pilot:
        await pilot.pause()
        yield app, pilot


def screen(widget: TranscriptWidget) -> list[str]:
    return [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]


def row_of(widget: TranscriptWidget, text: str) -> int:
    return next(y for y, line in enumerate(screen(widget)) if text in line)


async def drag(pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int]) -> None:
    await pilot.mouse_down(offset=start)
    await pilot.hover(offset=end)
    await pilot.mouse_up(offset=end)
    await pilot.pause()


async def test_it_opens_at_the_end_and_follows() -> None:
    s = night_shift()
    async with running(s) as (app, pilot):
        widget = app.transcript
        assert widget.anchored
        assert "turn 2" in screen(widget)[-1]
        s.user("Next.")
        widget.set_view(s.view())
        await pilot.pause()
        assert "Next." in screen(widget)[-1]
        assert widget.new_rows == 0


async def test_scrolled_up_it_stays_and_counts_what_is_new() -> None:
    s = night_shift()
    async with running(s) as (app, pilot):
        widget = app.transcript
        widget.action_page(-1)
        await pilot.pause()
        held = screen(widget)
        assert not widget.anchored
        s.user("One.")
        s.answer("Two.")
        widget.set_view(s.view())
        await pilot.pause()
        assert screen(widget) == held
        assert widget.new_rows == 4
        await pilot.press("end")
        assert widget.anchored
        assert widget.new_rows == 0
        assert "Two." in screen(widget)[-1]
        assert "folded, 4 lines" in "\n".join(line.row.text() for line in _all_lines(widget))


def _all_lines(widget: TranscriptWidget) -> list[Any]:
    layout = widget.viewport.layout
    return [ScreenLine(index, 0, row) for index in range(len(layout)) for row in layout.rows(index)]


async def test_the_scrollbar_and_the_wheel_move_the_same_view() -> None:
    async with running(night_shift()) as (app, pilot):
        widget = app.transcript
        widget.scroll_to(y=0, animate=False)
        await pilot.pause()
        assert widget.viewport.y == 0
        assert not widget.anchored
        assert "What does this package do" in screen(widget)[0]
        widget.scroll_end(animate=False)
        await pilot.pause()
        assert widget.anchored


async def test_the_cursor_walks_over_entries_and_marks_its_row() -> None:
    async with running(night_shift()) as (app, pilot):
        widget = app.transcript
        widget.focus()
        await pilot.press("end")
        assert screen(widget)[-1].startswith("›   turn 2")
        await pilot.press("up", "up")
        row = row_of(widget, "32 passed")
        assert screen(widget)[row].startswith("› ✓ run")
        selection = Palette(load_theme(bundled_folder() / "night.toml")).style("t1", "selection").bgcolor
        strip = widget.render_line(row)
        assert all(segment.style and segment.style.bgcolor == selection for segment in list(strip)[:-1])


async def test_the_cursor_brings_its_entry_into_view() -> None:
    async with running(night_shift()) as (app, pilot):
        widget = app.transcript
        widget.focus()
        await pilot.press("home")
        assert widget.cursor == "e0"
        for _ in range(30):
            await pilot.press("down")
            assert any(line.startswith("›") for line in screen(widget))


async def test_enter_opens_and_folds_the_entry_under_the_cursor() -> None:
    s = Samples()
    s.user("Read it.")
    s.tool("read", "a.py", "3 lines", 5, blocks=(TextBlock(text="one\ntwo\nthree"),))
    async with running(s) as (app, pilot):
        widget = app.transcript
        widget.focus()
        assert "two" not in "\n".join(screen(widget))
        await pilot.press("end", "enter")
        assert "two" in "\n".join(screen(widget))
        await pilot.press("enter")
        assert "two" not in "\n".join(screen(widget))


async def test_a_click_on_a_head_row_folds_and_one_on_an_action_is_told() -> None:
    async with running(night_shift()) as (app, pilot):
        widget = app.transcript
        row = row_of(widget, "tests/test_entry.py")
        await pilot.click(offset=(20, row))
        assert "assert x == 3" in "\n".join(screen(widget))
        await pilot.press("end")
        last = screen(widget)[-1]
        await pilot.click(offset=(last.index("diff"), widget.size.height - 1))
        await pilot.click(offset=(last.index("undo"), widget.size.height - 1))
        told = [(one.entry_id, one.action) for one in app.posted if isinstance(one, EntryAction)]
        assert told == [(widget.cursor, "diff"), (widget.cursor, "undo")]


async def test_a_message_under_the_mouse_offers_fork_and_revert() -> None:
    s = Samples()
    s.user("Do it.")
    async with running(s) as (app, pilot):
        widget = app.transcript
        assert "fork" not in screen(widget)[0]
        await pilot.hover(offset=(6, 0))
        await pilot.pause()
        shown = screen(widget)[0]
        assert "fork  revert" in shown
        await pilot.click(offset=(shown.index("revert"), 0))
        told = [(one.entry_id, one.action) for one in app.posted if isinstance(one, EntryAction)]
        assert told == [("e0", "revert")]


async def test_a_click_on_a_link_tells_the_real_address() -> None:
    s = Samples()
    s.user("Where?")
    s.answer("See [the docs](https://example.com/real).")
    async with running(s) as (app, pilot):
        row = row_of(app.transcript, "the docs")
        await pilot.click(offset=(screen(app.transcript)[row].index("the docs") + 1, row))
        assert [one.address for one in app.posted if isinstance(one, LinkClicked)] == [
            "https://example.com/real"
        ]


async def test_selecting_markdown_gives_its_source() -> None:
    s = Samples()
    s.user("Say.")
    s.answer("Some **bold** words and `code` here.\n\n- one\n- two\n")
    async with running(s) as (app, pilot):
        widget = app.transcript
        first, last = row_of(widget, "Some bold"), row_of(widget, "• two")
        await drag(pilot, (4, first), (40, last))
        told = [one.text for one in app.posted if isinstance(one, TextSelected)]
        assert told == ["Some **bold** words and `code` here.\n\n- one\n- two"]
        assert widget.selected_text() == told[0]
        await drag(pilot, (9, first), (13, first))
        assert widget.selected_text() == "bold"


async def test_selecting_output_leaves_rail_and_numbers_out_and_joins_broken_lines() -> None:
    s = Samples()
    s.user("Run.")
    long = "word " * 30
    s.tool("run", "make", "exit 0", 12, blocks=(TerminalBlock(text=f"first\n{long}\nlast\n"),))
    async with running(s) as (app, pilot):
        widget = app.transcript
        await drag(pilot, (4, row_of(widget, "first")), (70, row_of(widget, "last")))
        assert [line.rstrip() for line in widget.selected_text().split("\n")] == [
            "first",
            long.rstrip(),
            "last",
        ]


async def test_a_selection_dragged_above_the_view_scrolls_it() -> None:
    async with running(night_shift()) as (app, pilot):
        widget = app.transcript
        was = widget.viewport.y
        await pilot.mouse_down(offset=(8, 5))
        widget._pointer = (8, -1)
        for _ in range(3):
            widget._drag()
        assert widget.viewport.y == was - 3
        assert widget.selection is not None
        assert len(widget.selected_text().splitlines()) > 5


async def test_a_double_click_selects_a_word() -> None:
    s = Samples()
    s.user("alpha beta gamma")
    async with running(s) as (app, pilot):
        await pilot.click(offset=(11, 0), times=2)
        assert app.transcript.selected_text() == "beta"


async def test_a_selection_stays_on_its_text_while_more_arrives() -> None:
    s = night_shift()
    async with running(s) as (app, pilot):
        widget = app.transcript
        row = row_of(widget, "Fixed.")
        await drag(pilot, (4, row), (40, row))
        before = widget.selected_text()
        s.answer("More words.")
        widget.set_view(s.view())
        await pilot.pause()
        assert widget.selected_text() == before


async def test_find_goes_through_hits_and_opens_what_hides_them() -> None:
    s = night_shift()
    async with running(s) as (app, _):
        widget = app.transcript
        assert await widget.find("assert x == 3") == 1
        assert any("assert x == 3" in line for line in screen(widget))
        assert await widget.find("PYTEST") == 0
        count = await widget.find("pytest")
        places = []
        for _ in range(count):
            places.append((widget.find_place, widget.finder.current))
            assert widget.find_next(1)
        assert [place for place, _ in places] == [f"{number} of {count}" for number in range(1, count + 1)]
        assert len({hit for _, hit in places}) == count
        assert (widget.find_place, widget.finder.current) == places[0]
        assert widget.find_next(-1)
        assert (widget.find_place, widget.finder.current) == places[-1]
        assert await widget.find("") == 0 and widget.find_place == ""


def long_output() -> Samples:
    """A command with 12,000 lines of output, of which the chat shows 5,000 at a time."""
    s = Samples()
    s.user("Run it.")
    output = "".join(f"needle-{number}\n" for number in range(1, 12_001))
    s.tool("run", "seq", blocks=(TerminalBlock(text=output),))
    s.answer("Done.")
    return s


async def test_find_opens_the_part_of_an_output_in_which_it_found_something() -> None:
    s = long_output()
    async with running(s) as (app, _):
        widget = app.transcript
        assert await widget.find("needle-3999") == 1
        assert any(line.strip(" │").endswith("needle-3999") for line in screen(widget))
        assert widget.find_place == "1 of 1"
        count = await widget.find("needle-777")
        assert (count, widget.find_place) == (11, "1 of 11")
        for number in range(1, count):
            assert widget.find_next(1)
            assert widget.find_place == f"{number + 1} of 11"
            assert any("needle-777" in line for line in screen(widget))
        assert widget.find_next(1) and any(line.endswith("needle-777") for line in screen(widget))
        widget.close_find()
        for _ in range(2):
            widget.toggle_fold(s.entries[1].id)
        widget.scroll_to_entry(s.entries[1].id)
        assert any("7,000 earlier lines" in line for line in screen(widget))
        widget.action_page(-1)
        assert any(line.endswith("needle-7000") for line in screen(widget))


@pytest.mark.slow
async def test_an_opened_output_shows_every_line() -> None:
    s = long_output()
    async with running(s) as (app, _):
        widget = app.transcript
        widget.toggle_fold(s.entries[1].id)
        seen: set[str] = set()
        widget.go_to_end(1)
        for direction in (-1, 1):
            before = None
            while before != (before := screen(widget)):
                seen |= {line.split("│")[-1].strip() for line in before if "needle-" in line}
                widget.action_page(direction)
            assert seen >= {f"needle-{number}" for number in range(1, 12_001)}
            assert len(widget.viewport.layout.rows(1)) < 5_010
            seen.clear()


async def test_running_calls_show_their_time_once_a_second() -> None:
    clock = [AT + 4.2]
    s = Samples()
    s.user("Run.")
    s.tool("run", "make", state="running", started_at=AT)
    async with running(s, now=lambda: clock[0]) as (app, pilot):
        widget = app.transcript
        row = row_of(widget, "make")
        assert screen(widget)[row].endswith("running      4 s")
        clock[0] = AT + 65
        widget._tick()
        await pilot.pause()
        assert screen(widget)[row].endswith("1 min 05 s")


async def test_a_read_that_ends_at_once_never_shows_as_running() -> None:
    clock = [AT]
    s = Samples()
    s.user("Look.")
    read = s.tool("read", "app.py", state="running", started_at=AT)
    s.entries[-1] = replace(read, time=AT)
    async with running(s, now=lambda: clock[0]) as (app, pilot):
        widget = app.transcript
        assert not any("app.py" in line for line in screen(widget))
        clock[0] = AT + QUICK_S
        while not any("app.py" in line for line in screen(widget)):
            await pilot.pause(0.01)
        row = row_of(widget, "app.py")
        assert "running" in screen(widget)[row]


async def test_a_long_text_is_asked_for_once_and_drawn_when_it_comes() -> None:
    blob = BlobText(blob_sha256="a" * 64, size=90_000, preview="the first")
    held: dict[str, str] = {}
    resolve: Callable[[BlobText], str | None] = lambda one: held.get(one.blob_sha256)  # noqa: E731
    s = Samples()
    s.user("Say.")
    s.answer(blob)
    async with running(s, resolve=resolve) as (app, pilot):
        widget = app.transcript
        assert any("the first" in line for line in screen(widget))
        assert [one.blob for one in app.posted if isinstance(one, BlobWanted)] == [blob]
        held["a" * 64] = "the first and all of the rest"
        widget.blob_loaded(blob)
        await pilot.pause()
        assert any("all of the rest" in line for line in screen(widget))


async def test_another_theme_is_drawn_at_once() -> None:
    day = Palette(load_theme(bundled_folder() / "day.toml"))
    async with running(night_shift()) as (app, pilot):
        widget = app.transcript
        before = screen(widget)
        widget.set_look(day, UNICODE)
        await pilot.pause()
        assert screen(widget) == before
        styles = {segment.style for y in range(24) for segment in widget.render_line(y)}
        assert day.style("t1", "s0") in styles


@pytest.mark.parametrize("size", [(40, 8), (60, 20), (82, 24), (112, 45), (200, 60)])
async def test_every_size_is_sane(size: tuple[int, int]) -> None:
    async with running(every_state(), size) as (app, pilot):
        widget = app.transcript
        for _ in range(30):
            for y in range(widget.size.height):
                assert widget.render_line(y).cell_length == widget.scrollable_content_region.width
            widget.action_page(-1)
            await pilot.pause()
        assert widget.viewport.y == 0


async def test_resizing_keeps_what_is_read() -> None:
    async with running(night_shift(), (112, 20)) as (app, pilot):
        widget = app.transcript
        widget.scroll_to_entry("e4")
        await pilot.pause()
        assert widget._frame[1].slot == 4
        for width, height in ((60, 20), (82, 12), (112, 30)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            assert widget._frame[0].slot in (3, 4)


async def test_streaming_paints_only_rows_that_differ() -> None:
    s = Samples()
    s.user("Write.")
    entry = s.answer("one\n\ntwo\n\nthr", streaming=True)
    async with running(s) as (app, pilot):
        widget = app.transcript
        painted: list[Region] = []
        widget.refresh = lambda *regions, **_: painted.extend(regions)  # type: ignore[assignment, method-assign]
        s.entries[1] = replace(entry, text="one\n\ntwo\n\nthree", revision=2, streaming=False)
        widget.set_view(TranscriptView(entries=s.entries, revision=2), (1,))
        await pilot.pause()
        assert painted == [Region(0, 6, 82, 1)]


async def test_a_growing_text_waits_for_its_frame_and_its_end_does_not() -> None:
    s = Samples()
    s.user("Write.")
    entry = s.answer("one", streaming=True)
    async with running(s) as (app, _):
        widget = app.transcript
        widget._pace = Pace(clock=lambda: 0.0)
        widget._pace.note_frame(scrolled=False)
        s.entries[1] = replace(entry, text="one two", revision=2)
        widget.set_view(s.view(), (1,))
        assert screen(widget)[2].strip() == "one"
        s.entries[1] = replace(entry, text="one two three", revision=3, streaming=False)
        widget.set_view(s.view(), (1,))
        assert screen(widget)[2].strip() == "one two three"
        s.user("Next.")
        widget.set_view(s.view())
        assert "Next." in screen(widget)[4]


async def test_nothing_foreign_is_obeyed() -> None:
    hostile = "[@click=app.quit]press[/] [/a/b] [bold]b[/]\x1b]52;c;QUFB\x07\x1b[2J\u202e\x00"
    s = Samples()
    s.user(hostile)
    s.answer(hostile)
    s.tool("run", hostile, "exit 0", 12, blocks=(TerminalBlock(text=hostile),))
    s.notice("error", "error", hostile)
    async with running(s) as (app, pilot):
        shown = "\n".join(screen(app.transcript))
        assert shown.count("[@click=app.quit]press[/] [/a/b] [bold]b[/]") == 4
        assert "<U+001B>]52;c;QUFB<U+0007>" in shown and "<U+202E><U+0000>" in shown
        assert not {"\x1b", "\x07", "\x00", "\u202e"} & set(shown)
        await pilot.click(offset=(8, row_of(app.transcript, "press")))
        assert app.is_running
