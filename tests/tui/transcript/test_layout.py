"""Heights, gaps, folding of what is past, and the anchor."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.transcript.samples import Samples, diff_block, night_shift
from tui_agent.folds.transcript.entries import AnswerEntry, UserEntry
from tui_agent.protocol.display_blocks import TerminalBlock
from tui_agent.protocol.stored_text import LongText
from tui_agent.tui.theme.glyphs import UNICODE
from tui_agent.tui.theme.theme import Palette, bundled_folder, load_theme
from tui_agent.tui.transcript.layout import Heights, Layout
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.viewport import Viewport

PALETTE = Palette(load_theme(bundled_folder() / "night.toml"))


def read(text: LongText) -> str:
    return text if isinstance(text, str) else text.preview


def viewport(samples: Samples, width: int = 82, height: int = 20) -> Viewport:
    made = Viewport(Layout(Look(PALETTE, UNICODE, width), read, lambda: 0.0))
    made.set_entries(samples.entries, ())
    made.resize(Look(PALETTE, UNICODE, width), height)
    return made


def screen(view: Viewport) -> list[str]:
    return [line.row.text().rstrip() if line.row else "" for line in view.lines()]


def long_talk(turns: int = 60) -> Samples:
    s = Samples()
    random.seed(7)
    for number in range(turns):
        s.user(f"Message {number}")
        s.tool("run", "make", "exit 0", 12, blocks=(TerminalBlock(text="out\n" * random.randint(0, 30)),))
        s.answer(f"Answer {number}\n\n" + "some words that wrap " * random.randint(1, 60) + "\n- a\n- b\n")
        s.tool("edit", "a.py", "", 8, blocks=(diff_block("a.py"),))
        s.turn_end()
    return s


@pytest.mark.slow
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 9)), max_size=60))
def test_sums_of_heights_hold_whatever_was_appended_and_set(acts: list[tuple[bool, int, int]]) -> None:
    plain: list[int] = []
    tree = Heights()
    for append, at, height in acts:
        if append or not plain:
            plain.append(height)
            tree.append(height)
        else:
            tree.set(at % len(plain), height)
            plain[at % len(plain)] = height
        assert tree.total == sum(plain)
        assert [tree.top(i) for i in range(len(plain) + 1)] == [sum(plain[:i]) for i in range(len(plain) + 1)]
    for y in range(sum(plain)):
        index = tree.index_at(y)
        assert tree.top(index) <= y < tree.top(index) + plain[index]


def test_no_two_empty_rows_follow_each_other_and_speakers_are_apart() -> None:
    view = viewport(night_shift(), 112, 200)
    shown = screen(view)
    for above, below in pairwise(shown):
        assert above or below
    said = next(n for n, line in enumerate(shown) if "Cause:" in line)
    assert shown[said - 1] == shown[said + 1] == ""


def test_rows_that_look_stack_without_gaps() -> None:
    shown = screen(viewport(night_shift(), 112, 200))
    first = next(n for n, line in enumerate(shown) if "search" in line)
    assert "read" in shown[first + 1]
    assert "read" in shown[first + 2]


def test_reads_of_a_finished_turn_become_one_row_when_the_next_message_comes() -> None:
    s = Samples()
    s.user("Look.")
    for number in range(7):
        s.tool("read", f"{number}.py", "61 lines", 10)
    s.tool("search", "x", "2 hits", 30)
    s.turn_end()
    view = viewport(s, height=40)
    assert sum("lines" in line for line in screen(view)) == 7
    s.user("Next.")
    view.set_entries(s.entries, ())
    assert "▸ 7 reads, 1 search" in "\n".join(screen(view))
    assert "0.1 s" in next(line for line in screen(view) if "reads" in line)
    assert sum("lines" in line for line in screen(view)) == 0
    leader = view.layout.index_of("e1")
    assert leader is not None
    with view.keep_position():
        view.layout.auto_fold.toggle(leader)
    assert sum("lines" in line for line in screen(view)) == 7


def test_good_output_folds_at_the_next_message_and_bad_output_stays() -> None:
    s = Samples()
    s.user("Go.")
    s.tool("run", "make", "exit 0", 12, blocks=(TerminalBlock(text="fine\n"),))
    s.tool("run", "test", "exit 1", 12, state="failed", blocks=(TerminalBlock(text="broken\n"),))
    view = viewport(s)
    assert "fine" in "\n".join(screen(view))
    s.user("Next.")
    view.set_entries(s.entries, ())
    assert "fine" not in "\n".join(screen(view))
    assert "broken" in "\n".join(screen(view))


def test_only_entries_near_the_screen_are_drawn() -> None:
    view = viewport(long_talk(400), height=20)
    assert sum(slot.rows is not None for slot in view.layout.slots) < 40


@pytest.mark.slow
def test_going_through_everything_keeps_few_entries_drawn() -> None:
    view = viewport(long_talk(400), height=20)
    for y in range(0, view.layout.total, 15):
        view.scroll_to(y)
    assert sum(slot.rows is not None for slot in view.layout.slots) <= 300


def test_scrolled_up_the_row_at_the_top_stays_whatever_comes() -> None:
    s = long_talk()
    view = viewport(s)
    view.scroll_to(view.layout.total // 2)
    held = screen(view)
    for number in range(30):
        s.tool("run", f"make {number}", "exit 0", 12, blocks=(TerminalBlock(text="out\n" * 5),))
        view.set_entries(s.entries, ())
        assert screen(view) == held
    assert view.new_rows > 30
    assert not view.anchored


def test_scrolling_row_by_row_meets_every_row_once_though_heights_were_guessed() -> None:
    s = long_talk(20)
    whole = viewport(s, height=10_000)
    expected = screen(whole)
    view = viewport(s, height=7)
    view.scroll_to(0)
    seen = screen(view)
    while not view.anchored:
        view.scroll_to(view.y + 1)
        seen.append(screen(view)[-1])
    assert seen == expected


def test_scrolling_up_row_by_row_never_jumps() -> None:
    s = long_talk(20)
    expected = screen(viewport(s, height=10_000))
    view = viewport(s, height=7)
    seen = screen(view)
    for _ in range(len(expected) + 5):
        view.scroll_to(view.y - 1)
        top = screen(view)
        if top[1:] == seen[:6]:
            seen.insert(0, top[0])
    assert seen == expected


def test_folding_above_the_view_does_not_move_it() -> None:
    s = long_talk()
    view = viewport(s)
    view.scroll_to(view.layout.total * 2 // 3)
    held = screen(view)
    first = view.lines()[0].slot

    with view.keep_position():
        for index in range(first):
            if index % 5 == 1:
                view.layout.set_opened(index, index % 2 == 0)
    assert screen(view) == held


def test_a_new_width_keeps_the_entry_at_the_top() -> None:
    s = long_talk()
    view = viewport(s)
    view.scroll_to(view.layout.total // 2)
    held = view.lines()[0].slot
    for width in (60, 110, 45, 82):
        view.resize(Look(PALETTE, UNICODE, width), 20)
        assert view.lines()[0].slot == held


@pytest.mark.parametrize("above", range(1, 7))
def test_a_new_width_keeps_the_place_in_a_long_output_that_was_unfolded(above: int) -> None:
    s = long_talk(3)
    output = "".join(f"line {number} " + "x" * 3 * (number % 90) + "\n" for number in range(134))
    call = s.tool("tests", "pytest", "8 failed", 12, blocks=(TerminalBlock(text=output),))
    s.answer("Eight failed.")
    s.turn_end()
    for number in range(40):
        s.user(f"Later message {number}")
        s.answer("some words that wrap " * 30)
    view = viewport(s)
    index = s.entries.index(call)
    with view.keep_position():
        view.layout.set_opened(index, True)
    view.layout.draw_slot(index)
    view.scroll_to(view.layout.top(index) + 40 * above)
    for width in (60, 110, 45, 82):
        view.resize(Look(PALETTE, UNICODE, width), 20)
        assert view.lines()[0].slot == index


def test_other_colours_change_no_height() -> None:
    view = viewport(long_talk(30))
    before = (view.layout.total, view.y)
    day = Palette(load_theme(bundled_folder() / "day.toml"))
    view.resize(Look(day, UNICODE, 82), 20)
    assert (view.layout.total, view.y) == before


def test_a_growing_answer_follows_at_the_bottom_and_counts_above_it() -> None:
    s = long_talk(10)
    s.user("Write.")
    entry = s.answer("", streaming=True)
    view = viewport(s)
    text = ""
    for number in range(40):
        text += f"line {number}\n\n"
        s.entries[-1] = AnswerEntry(**{**_fields(entry), "text": text, "revision": number + 2})
        view.set_entries(s.entries, [len(s.entries) - 1])
        assert screen(view)[-1].strip() == f"line {number}"
    view.scroll_to(view.y - 10)
    held = screen(view)
    text += "more\n\n" * 6
    s.entries[-1] = AnswerEntry(**{**_fields(entry), "text": text, "revision": 99})
    view.set_entries(s.entries, [len(s.entries) - 1])
    assert screen(view) == held
    assert view.new_rows == 12


def test_another_branch_replaces_everything() -> None:
    s = long_talk(10)
    view = viewport(s)
    other = Samples()
    other.entries.append(UserEntry(**{**_fields(s.entries[0]), "id": "other", "text": "another branch"}))
    view.set_entries(other.entries, ())
    assert any("another branch" in line for line in screen(view))
    assert len(view.layout) == 1


def _fields(entry: object) -> dict[str, object]:
    return {name: getattr(entry, name) for name in entry.__dataclass_fields__}  # type: ignore[attr-defined]


def test_going_back_leaves_what_a_view_that_never_went_further_shows() -> None:
    samples = long_talk(6)
    entries = samples.entries
    view = viewport(samples)
    for count in range(len(entries) - 1, 0, -1):
        view.set_entries(entries[:count], ())
        fresh = Viewport(Layout(Look(PALETTE, UNICODE, 82), read, lambda: 0.0))
        fresh.set_entries(entries[:count], ())
        fresh.resize(Look(PALETTE, UNICODE, 82), 20)
        view.scroll_to(view.layout.total)
        assert screen(view) == screen(fresh), count
        rows = [[row.text() for row in view.layout.rows(index)] for index in range(count)]
        assert rows == [[row.text() for row in fresh.layout.rows(index)] for index in range(count)], count


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(0, 40))
def test_sums_of_heights_hold_after_dropping_the_last_ones(heights: list[int], count: int) -> None:
    tree = Heights(heights)
    tree.drop(count)
    kept = heights[:count]
    tree.append(3)
    assert tree.total == sum(kept) + 3
    assert [tree.top(index) for index in range(len(kept) + 2)] == [
        sum([*kept, 3][:index]) for index in range(len(kept) + 2)
    ]
