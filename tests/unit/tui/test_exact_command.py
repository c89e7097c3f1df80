"""S6: from the rows that an approval shows of a command, the command that runs can be read back letter by letter."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from textual.strip import Strip

from tests.unit.tui.test_context_pane import LOOKS
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.unicode_text import is_invisible
from tui_agent.tui.modals.exact_command import command_rows, is_command, wrap_exactly
from tui_agent.tui.untrusted_text import width

SIGNS = re.compile(r"<(?:U\+([0-9A-F]{4,6})|(tab)|(?:(\d+) )?(blank)s?|(\d+) line breaks)>")
NASTY = [
    " ", "  ", " " * 9, " " * 41, " " * 300, "\n", "\n" * 4, "\n" * 300, "\t", "\r", "\x1b[2J", "\x00", "\x9b", "\u202e",
    "\u2066", "\u200b", "\u200d", "\u00a0", "\u3000", "\u2028", "\u2800", "\U000e0041", "\ufe0f", "\u0301", "\ud800",
    "漢字", "👩", "\U0001f3fd", "\U0001f1e9", "<U+202E>", "<tab>", "<blank>", "<4 blanks>", "<7 line breaks>", "<", "U+", ">",
    "12  ", "echo ok;", "rm -rf x", "a" * 200,
]  # fmt: skip
LEAST = 12
"""Cells; an approval leaves several times as many on the smallest screen. Beside numbers of four digits five are left."""
SCRIPTS = st.lists(st.sampled_from(NASTY) | st.text(max_size=6), min_size=1, max_size=12).map("".join)


_RICH = LOOKS.palette.style
SAID, SIGN, NUMBER = _RICH("t1", "sunk", bold=True), _RICH("warning", "sunk"), _RICH("t3", "sunk")


def read(found: re.Match[str]) -> str:
    code, tab, count, blank, breaks = found.groups()
    if code:
        return chr(int(code, 16))
    return "\t" if tab else " " * int(count or 1) if blank else "\n" * int(breaks)


def read_back(strips: list[Strip]) -> str:
    """What a person reads: the quiet numbers apart; a row without one goes on where the last one ended."""
    text = ""
    for at, strip in enumerate(strips):
        numbers = "".join(one.text for one in strip if one.style == NUMBER)
        body = "".join(one.text for one in strip if one.style in (SAID, SIGN))
        new = at > 0 and bool(numbers.strip())
        assert new or at == 0 or not text.endswith(" "), "a blank that nobody sees"
        text += ("\n" if new else "") + body
    assert not text.endswith(" ")
    text = re.sub(r"\n?(<\d+ line breaks>)\n?", r"\1", text)
    # A sign that the text itself holds has its `<` as a sign: that one is read last.
    return "<".join(SIGNS.sub(read, part) for part in text.split("<U+003C>"))


@given(SCRIPTS, st.integers(LEAST, 100))
@example("<U+003C>tab>\n\n\n\n<4 line breaks>", 40)
@example("x" * 33 + "漢 漢", 40)
@example("a  \n  b" + " " * 9, 8)
@example("  " + "\n" * 300, LEAST)
def test_the_command_can_be_read_back_from_its_rows(script: str, cells: int) -> None:
    strips = command_rows(script, LOOKS, cells, edges=False)
    assert read_back(strips) == script
    for strip in strips:
        assert not [one for one in strip.text if is_invisible(one)]
        assert strip.cell_length == cells == width(strip.text)


@pytest.mark.parametrize("hidden", ["; rm -rf sub", "\u202e; rm -rf sub"])
def test_a_command_behind_blanks_stands_beside_what_is_before_them(hidden: str) -> None:
    [strip] = command_rows(f"echo start{' ' * 400}{hidden}", LOOKS, 80, edges=False)
    assert "echo start<400 blanks>" in strip.text and "rm -rf sub" in strip.text


def test_a_command_of_one_line_has_no_number_and_several_lines_have_theirs() -> None:
    assert [one.text.rstrip() for one in command_rows("ls", LOOKS, 80, edges=False)] == ["  ls"]
    rows = [one.text.rstrip() for one in command_rows("ls\n\n\n\n\n\nrm x ", LOOKS, 80, edges=False)]
    assert rows == ["  1  ls", "  2  <6 line breaks>", "  7  rm x<blank>"]


@given(st.text(st.sampled_from("ab  漢\u0301=/"), max_size=300), st.integers(3, 40))
def test_pieces_lose_nothing_and_end_in_no_blank(line: str, room: int) -> None:
    line = re.sub(" {2,}", " ", line)
    found = wrap_exactly(line, room)
    assert "".join(found) == line and all(width(one) <= room for one in found)
    assert not any(one.endswith(" ") for one in found[:-1])


@pytest.mark.slow
def test_ten_megabytes_are_drawn_before_the_time_limit() -> None:
    assert len(command_rows("x y" * 3_000_000, LOOKS, 90)) > 100_000


@pytest.mark.parametrize(
    ("text", "runs", "same"),
    [
        ("ls -l", RunEffect(script="ls -l"), True),
        ("ls -l", RunEffect(script="ls -l; rm x"), False),
        ("ls 'a b'", RunEffect(argv=("ls", "a b")), True),
        ("ls a b", RunEffect(argv=("ls", "a b")), False),
        ("ls '", RunEffect(argv=("ls",)), False),
        ("x" * 9000, RunEffect(script="x" * 8000 + " … [cut: 9000 characters in total]"), True),
        ("y" * 9000, RunEffect(script="x" * 8000 + " … [cut: 9000 characters in total]"), False),
    ],
)
def test_a_text_that_is_not_the_command_is_known(text: str, runs: RunEffect, same: bool) -> None:
    assert is_command(text, runs) is same
