"""What foreign text may still do on the screen after the boundary: nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from wcwidth import wcwidth

from tui_agent.tui import untrusted_text

HOSTILE = [
    "\x1b]52;c;SGVsbG8=\x07",
    "\x1b]52;c;SGVsbG8=\x1b\\",
    "\x9d52;c;SGVsbG8=\x9c",
    "\x1b[31m",
    "\x9b31m",
    "\x1bP1$r0m\x1b\\",
    "\x1b_payload\x1b\\",
    "\x1bc",
    "\x1b(0",
    "\x00\x07\x08\x7f\x85\x9f",
    "\u202e\u2066\u200f\u061c",
    "\U000e0041\U000e007f",
    "\u200b\ufeff\u00ad\u3164",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_nothing_that_a_terminal_obeys_is_left(hostile: str) -> None:
    assert untrusted_text.clean(f"a{hostile}b") == "ab"


def test_an_unfinished_escape_string_does_not_swallow_the_text_behind_it() -> None:
    assert untrusted_text.clean("\x1b]0;title without end\nnext line") == "]0;title without end\nnext line"


def test_revealed_text_names_every_hidden_code_point_and_drops_none() -> None:
    assert untrusted_text.clean("rm \u202e\x1b[8mx\x00", reveal=True) == "rm <U+202E><U+001B>[8mx<U+0000>"


def test_what_reads_like_a_revealed_character_is_told_apart_from_one() -> None:
    assert untrusted_text.clean("<U+202E>\u202e", reveal=True) == "<U+003C>U+202E><U+202E>"


@given(st.text(alphabet=st.characters(), max_size=60))
def test_cleaned_text_is_as_wide_for_a_terminal_as_for_the_layout(given_text: str) -> None:
    for line in untrusted_text.clean(given_text).split("\n"):
        assert cell_len(line) == sum(max(0, wcwidth(char)) for char in line)


def test_what_is_typed_keeps_its_emoji_and_tabs_and_nothing_that_hides() -> None:
    family = "👩\u200d👩\u200d👧 ⚠\ufe0f 👍\U0001f3fd\t"
    assert untrusted_text.clean_typed_text(f"{family}\r\n\x1b[31m\u202e\U000e0041\ud800x") == f"{family}\n?x"


@given(st.text())
def test_a_row_of_cells_holds_nothing_that_a_terminal_obeys(given_text: str) -> None:
    shown = untrusted_text.cell_text(given_text)
    assert shown == untrusted_text.clean_line(given_text) == untrusted_text.cell_text(shown)


def test_line_ends_of_every_kind_become_line_feeds() -> None:
    assert untrusted_text.clean("a\r\nb\rc\u2028d\x0ce") == "a\nb\nc\nd\ne"


def test_lone_surrogates_cannot_reach_the_terminal() -> None:
    assert untrusted_text.clean("a\ud800b") == "a\ufffdb"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("👩\u200d👩\u200d👧", "👩👩👧"),
        ("⚠\ufe0f", "⚠"),
        ("1\ufe0f\u20e3", "1\u20e3"),
        ("👍\U0001f3fd", "👍"),
        ("\U0001f1e9\U0001f1ea", "DE"),
        ("\U0003fffe", "\ufffd"),
    ],
)
def test_emoji_are_as_wide_on_every_terminal_as_they_are_counted(given: str, shown: str) -> None:
    assert untrusted_text.clean(given) == shown


@pytest.mark.parametrize("mark", ["\u0301", "\u0e47", "\u0591", "\u20dd", "\ua66f", "\u0489"])
def test_piles_of_marks_of_every_script_are_cut(mark: str) -> None:
    assert untrusted_text.clean("a" + mark * 500 + "b") == "a" + mark * 4 + "b"


def test_stacked_marks_are_cut_to_what_a_line_can_hold() -> None:
    assert untrusted_text.clean("a" + "\u0301" * 500) == "a" + "\u0301" * 4


def test_tabs_stop_at_cells_not_at_characters() -> None:
    assert untrusted_text.clean("世\tx\na\ty") == "世  x\na   y"


@pytest.mark.slow_variants
@pytest.mark.parametrize("start", ["\x1b]", "\x9d", "\x1b[0", "\x1b", "\u0301", "\u200d", "é\t"])
def test_a_huge_line_of_unfinished_sequences_is_done_before_the_time_limit(start: str) -> None:
    assert "\x1b" not in untrusted_text.clean(start * 1_000_000)


@given(st.text())
def test_cleaned_text_is_stable_and_free_of_controls(given_text: str) -> None:
    cleaned = untrusted_text.clean(given_text)
    assert untrusted_text.clean(cleaned) == cleaned
    assert not any((ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 for c in cleaned)


@given(st.text(alphabet="ab世é👩\u0301\u200d ", max_size=40), st.integers(0, 40))
def test_taking_cells_never_loses_or_overruns(given_text: str, cells: int) -> None:
    line = untrusted_text.clean(given_text)
    head, tail = untrusted_text.split_cells(line, cells)
    assert head + tail == line
    assert cell_len(head) <= cells
