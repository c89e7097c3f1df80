"""A comparison as plain text in two columns. Invariant: nothing is cut off; long text is wrapped."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tui_agent.cli.output import printable
from tui_agent.folds.comparison.fold import Comparison
from tui_agent.tui.screens.compare.figures import Cell, beginning, figures, missing, tools, who

LABELS = 17
GAP = 2
LEAST = 60
SIDE_BY_SIDE_FROM = 100
"""Minimum width in columns at which files and answers are shown side by side too."""


def table(compared: Comparison, width: int) -> Iterator[str]:
    """Yield the lines, none longer than `width` columns (at least `LEAST`)."""
    width = max(LEAST, width)
    yield from textwrap.wrap(printable("What if: " + "".join(beginning(compared.fork_point))), width)
    yield ""
    for label, left, right in rows(compared):
        yield from _two_columns(left, right, width, label)
    yield from _file_lines(compared, width)
    yield ""
    yield "Answers"
    yield from _text_pair(compared, compared.left.answer or "none", compared.right.answer or "none", width)


def rows(compared: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield label, left and right value of every row."""
    left, right = compared.left, compared.right
    yield "", left.name, right.name
    yield "", who(left), who(right)
    if left.change or right.change:
        yield "", left.change, right.change
    yield "", left.session, right.session
    yield "", "", ""
    yield "Outcome", left.outcome.words, right.outcome.words
    for row in figures(left, right):
        yield row.label, _format_cell(row.left), _format_cell(row.right)
    yield "Tools", tools(left), tools(right)


def _format_cell(cell: Cell) -> str:
    lines = [f"{sign}{count}" for sign, count in (("+", cell.added), ("-", cell.removed)) if count]
    text = ", ".join(word for word in (cell.text, cell.note) if word)
    return "  ".join([text, " ".join(lines)]).rstrip()


def _file_lines(compared: Comparison, width: int) -> Iterator[str]:
    yield ""
    if not compared.differ:
        yield "No files differ at the end."
        return
    yield "Where they differ"
    for number, file in enumerate(compared.differ):
        yield from [""] * (number > 0)
        yield printable(file.path)
        left = file.left.rstrip("\n") or file.left_note or missing(file, compared.left)
        right = file.right.rstrip("\n") or file.right_note or missing(file, compared.right)
        yield from _text_pair(compared, left, right, width, code=True)


def _text_pair(
    compared: Comparison, left: str, right: str, width: int, *, code: bool = False
) -> Iterator[str]:
    """Yield two multi-line texts side by side, or one below the other if the terminal is narrow."""
    if width >= SIDE_BY_SIDE_FROM:
        yield from _two_columns(left, right, width, code=code)
        return
    for name, text in ((compared.left.name, left), (compared.right.name, right)):
        yield f"{printable(name)}:"
        yield from (f"  {line}".rstrip() for line in _wrap(text, width - 2, code=code))


def _two_columns(
    left: str, right: str, width: int, label: str | None = None, *, code: bool = False
) -> Iterator[str]:
    labels = 0 if label is None else LABELS
    room = (width - labels - GAP) // 2
    heads: Sequence[str] = [label or ""]
    sides = (_wrap(text, room, code=code) for text in (left, right))
    for head, left_line, right_line in zip_longest(heads, *sides, fillvalue=""):
        yield f"{head:<{labels}}{left_line:<{room}}{' ' * GAP}{right_line}".rstrip()


def _wrap(text: str, room: int, *, code: bool) -> list[str]:
    """Wrap the text to `room` columns; code keeps its spaces, and its continued lines are indented by 2."""
    lines: list[str] = []
    for line in printable(text, lines=True).expandtabs(4).split("\n"):
        indent = " " * (min(len(line) - len(line.lstrip()), room // 2) + 2 * code)
        wrapped = textwrap.wrap(
            line, room, subsequent_indent=indent, drop_whitespace=not code, break_on_hyphens=not code
        )
        lines += wrapped or [""]
    return lines
