"""A reply that comes in pieces ends as the same rows as one that came at once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tui_agent.tui.theme.glyphs import UNICODE
from tui_agent.tui.theme.theme import Looks, Palette, bundled_folder, load_theme
from tui_agent.tui.transcript.markdown import Place
from tui_agent.tui.transcript.markdown_stream import MarkdownStream, markdown_text
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.styled_rows import Row, width_of
from tui_agent.tui.untrusted_text import clean

PALETTE = Palette(load_theme(bundled_folder() / "night.toml"))
LINES = [
    "# Title",
    "Some **bold** text with `code` and a [link](http://example.com/x).",
    "- item one",
    "- item two that is long enough to be wrapped in a narrow view, for sure",
    "  - nested",
    "    more of it",
    "  second paragraph",
    "1. first",
    "2. second",
    "* star",
    "- [x] done",
    "> quoted",
    "```python",
    "def f(x):",
    "\treturn 'a'",
    "```",
    "~~~",
    "    indented",
    "| a | b |",
    "|---|--:|",
    "| 世界 | 2 |",
    "| long cell \\| with a pipe | `c` |",
    "---",
    "===",
    "***",
    "[bold]not markup[/bold] [/a/b] [@click=app.quit]x[/]",
    "\x1b[31mred\x1b[0m \u202ebidi",
    "",
    "",
    "",
]


def look(width: int = 60) -> Look:
    return Look(PALETTE, UNICODE, width)


def stream(width: int = 60) -> MarkdownStream:
    used = look(width)
    return MarkdownStream(used, Place((used.gutter(),), (used.gutter(),)))


def plain(rows: list[Row]) -> list[tuple[list[tuple[object, ...]], bool]]:
    return [([tuple(run) for run in row.runs], row.joined) for row in rows]


def in_pieces(text: str, cuts: list[int]) -> MarkdownStream:
    made = stream()
    for cut in sorted(cuts):
        made.update(text[:cut], done=False)
    made.update(text, done=True)
    return made


@pytest.mark.parametrize("line_break", ["\r", "\x0b", "\x0c", "\x85", "\u2028"])
def test_an_unfinished_line_with_another_line_break_is_drawn(line_break: str) -> None:
    made = stream()
    made.update(f"I{line_break}  read", done=False)
    assert "read" in "".join(run.text for row in made.rows for run in row.runs)


@settings(max_examples=example_count(150))
@given(st.lists(st.sampled_from(LINES), max_size=25), st.lists(st.integers(0, 800), max_size=30))
def test_rows_do_not_depend_on_how_the_text_arrived(lines: list[str], cuts: list[int]) -> None:
    text = "\n".join(lines)
    at_once = stream()
    at_once.update(text, done=True)
    pieces = in_pieces(text, cuts)
    assert plain(pieces.rows) == plain(at_once.rows)
    assert [run.src for row in pieces.rows for run in row.runs] == [
        run.src for row in at_once.rows for run in row.runs
    ]


@settings(max_examples=example_count(100))
@given(st.lists(st.sampled_from(LINES), max_size=25), st.lists(st.integers(0, 800), max_size=30))
def test_frozen_rows_never_change(lines: list[str], cuts: list[int]) -> None:
    text = "\n".join(lines)
    made = stream()
    for cut in sorted(cuts):
        frozen = made.rows[: made.frozen]
        made.update(text[:cut], done=False)
        assert made.rows[: len(frozen)] == frozen


@settings(max_examples=example_count(100))
@given(st.text(alphabet="ab`*_[]()|-#>~1. \n\t世é", max_size=200), st.integers(12, 90))
def test_any_text_is_drawn_within_the_width(text: str, width: int) -> None:
    made = stream(width)
    made.update(text, done=True)
    for row in made.rows:
        assert width_of(row.runs) <= width
        assert "\n" not in row.text()
        assert "\t" not in row.text()


@settings(max_examples=example_count(100))
@given(st.lists(st.sampled_from(LINES), max_size=25))
def test_every_run_points_into_the_source(lines: list[str]) -> None:
    made = stream()
    source = clean("\n".join(lines), tab=0)
    made.update(source, done=True)
    for row in made.rows:
        for run in row.runs:
            assert run.src <= len(source)


def test_code_keeps_its_place_in_the_source() -> None:
    text = "Intro\n\n```go\nfunc f() {\n\treturn 1\n}\n```\n"
    made = stream()
    made.update(text, done=True)
    shown = {
        run.text.strip(): run.src
        for row in made.rows
        for run in row.runs
        if run.src >= 0 and run.text.strip()
    }
    assert text[shown["return"] :].startswith("return 1")


@pytest.mark.parametrize(
    "markup", ["[bold]x[/bold]", "[/a/b]", "[@click=app.quit]quit[/]", "<b>x</b>", "&lt;"]
)
def test_markup_of_other_tongues_is_text(markup: str) -> None:
    made = stream()
    made.update(markup, done=True)
    shown = made.rows[0].text().strip()
    assert shown == ("<" if markup == "&lt;" else markup)


def test_an_address_is_shown_and_only_a_known_scheme_can_be_pressed() -> None:
    made = stream(100)
    made.update("[a](https://example.com/real) [b](javascript:alert)", done=True)
    acts = {run.text.strip(): run.act for run in made.rows[0].runs}
    assert acts["a"] == "link:https://example.com/real"
    assert "(https://example.com/real)" in acts
    assert acts["b"] == ""
    assert "(javascript:alert)" in made.rows[0].text()


def test_a_long_string_keeps_its_colour_over_empty_lines() -> None:
    text = '```python\nx = """\n' + "words\n\n" * 30 + '"""\ny = 1\n```\n'
    made = stream()
    made.update(text, done=True)
    styles = {run.style for row in made.rows for run in row.runs if run.text == "words"}
    assert styles == {PALETTE.style("string", "sunk")}


def test_a_table_is_aligned_by_cells_when_it_has_closed() -> None:
    made = stream(60)
    made.update("| name | n |\n|:--|--:|\n| 世界 | 1 |\n| abc | 22 |\n\nend\n", done=True)
    rows = [row.text() for row in made.rows[:3]]
    assert rows == ["    name   n", "    世界   1", "    abc   22"]


@pytest.mark.slow
def test_work_follows_what_was_added_not_what_was_said() -> None:
    """An open fence of many lines: an update draws the open group only."""
    made = stream()
    text = "```python\n"
    drawn = 0
    for number in range(600):
        text += f"x = {number}\n"
        first = made.frozen
        made.update(text, done=False)
        drawn += len(made.rows) - first
    assert drawn < 600 * 110
    assert made.frozen > 450


def test_an_answer_as_plain_lines_has_no_marks_of_markdown() -> None:
    looks = Looks(PALETTE, UNICODE, motion=False)
    text = markdown_text("**Fixed.** See `a.py`.\n\n- one\n- two\n\n```python\nx = 1\n```", looks, 40)
    assert not any(mark in text for mark in ("**", "`", "```"))
    assert "Fixed. See a.py." in text.splitlines()[0] and "x = 1" in text and "two" in text
