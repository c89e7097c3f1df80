"""Rows of cells: exactly as wide as asked, nothing lost on the right, nothing lost by wrapping."""

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from tui_agent.tui.untrusted_text import clean, fit_path, width
from tui_agent.tui.widgets.rows import blank_strip, cells, intent_of, part, row, with_intent, wrap

PLAIN = Style()
texts = st.text(st.characters(codec="utf-8"), max_size=60)


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=3), st.integers(min_value=1, max_value=120))
def test_a_row_is_exactly_as_wide_as_asked(left: list[str], right: list[str], wide: int) -> None:
    made = row(
        wide,
        [part(one, PLAIN) for one in left],
        [part(one, PLAIN) for one in right],
        fill=PLAIN,
        ellipsis="…",
    )
    assert made.cell_length == sum(segment.cell_length for segment in made) == wide


def test_the_right_side_stays_whole_and_the_left_one_is_cut() -> None:
    made = row(20, [("a very long name indeed", PLAIN)], [("12.5k", PLAIN)], fill=PLAIN, ellipsis="…")
    assert made.text == "a very lon…  12.5k  "


@given(texts, st.integers(min_value=2, max_value=80))
def test_wrapping_loses_nothing_but_the_spaces_it_breaks_at(text: str, room: int) -> None:
    cleaned = clean(text)
    lines = wrap(cleaned, room)
    assert all(width(line) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == cleaned.replace("\n", "").replace(" ", "")


def test_words_are_kept_together_where_they_fit() -> None:
    assert wrap("one two three four", 9) == ["one two", "three", "four"]


def test_an_intent_travels_with_the_style_and_only_there() -> None:
    assert intent_of(with_intent(PLAIN, "fold 3")) == "fold 3"
    assert intent_of(PLAIN) == ""
    assert cells([("漢字", PLAIN), ("ab", PLAIN)]) == 6
    assert blank_strip(7, PLAIN).cell_length == 7


def test_a_path_whose_folder_has_no_room_shows_that_something_is_left_out() -> None:
    assert fit_path("src/deep/name.py", 11) == "sr…/name.py"
    assert fit_path("src/deep/name.py", 9) == "…/name.py"
    assert fit_path("src/deep/name.py", 8) == "name.py"
    assert fit_path("name_without_folder.py", 8) == "name_wi…"
