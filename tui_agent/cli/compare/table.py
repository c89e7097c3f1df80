"""A comparison as lines of plain text, two columns wide. Invariant: nothing is cut off: what is long goes on below."""

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
"""From so many columns on, files and answers stand beside each other too."""


def table(compared: Comparison, width: int) -> Iterator[str]:
    """Its lines, none longer than `width` (of at least `LEAST`)."""
    width = max(LEAST, width)
    yield from textwrap.wrap(printable("What if: " + "".join(beginning(compared.fork_point))), width)
    yield ""
    for label, left, right in rows(compared):
        yield from _pair(left, right, width, label)
    yield from _files(compared, width)
    yield ""
    yield "Answers"
    yield from _beside(compared, compared.left.answer or "none", compared.right.answer or "none", width)


def rows(compared: Comparison) -> Iterator[tuple[str, str, str]]:
    """Label, left and right of every row of the table."""
    left, right = compared.left, compared.right
    yield "", left.name, right.name
    yield "", who(left), who(right)
    if left.change or right.change:
        yield "", left.change, right.change
    yield "", left.session, right.session
    yield "", "", ""
    yield "Outcome", left.outcome.words, right.outcome.words
    for one in figures(left, right):
        yield one.label, _words(one.left), _words(one.right)
    yield "Tools", tools(left), tools(right)


def _words(cell: Cell) -> str:
    lines = [f"{sign}{count}" for sign, count in (("+", cell.added), ("-", cell.removed)) if count]
    said = ", ".join(word for word in (cell.text, cell.note) if word)
    return "  ".join([said, " ".join(lines)]).rstrip()


def _files(compared: Comparison, width: int) -> Iterator[str]:
    yield ""
    if not compared.differ:
        yield "No file ends otherwise."
        return
    yield "Where they differ"
    for number, one in enumerate(compared.differ):
        yield from [""] * (number > 0)
        yield printable(one.path)
        left = one.left.rstrip("\n") or one.left_note or missing(one, compared.left)
        right = one.right.rstrip("\n") or one.right_note or missing(one, compared.right)
        yield from _beside(compared, left, right, width, code=True)


def _beside(compared: Comparison, left: str, right: str, width: int, *, code: bool = False) -> Iterator[str]:
    """Two texts of many lines beside each other, or one below the other where there is no room."""
    if width >= SIDE_BY_SIDE_FROM:
        yield from _pair(left, right, width, code=code)
        return
    for name, text in ((compared.left.name, left), (compared.right.name, right)):
        yield f"{printable(name)}:"
        yield from (f"  {line}".rstrip() for line in _lines(text, width - 2, code=code))


def _pair(
    left: str, right: str, width: int, label: str | None = None, *, code: bool = False
) -> Iterator[str]:
    labels = 0 if label is None else LABELS
    room = (width - labels - GAP) // 2
    heads: Sequence[str] = [label or ""]
    sides = (_lines(text, room, code=code) for text in (left, right))
    for head, one, other in zip_longest(heads, *sides, fillvalue=""):
        yield f"{head:<{labels}}{one:<{room}}{' ' * GAP}{other}".rstrip()


def _lines(text: str, room: int, *, code: bool) -> list[str]:
    """The text in lines of at most `room`; of code every space stays, and what goes on is indented by 2."""
    found: list[str] = []
    for line in printable(text, lines=True).expandtabs(4).split("\n"):
        indent = " " * (min(len(line) - len(line.lstrip()), room // 2) + 2 * code)
        wrapped = textwrap.wrap(
            line, room, subsequent_indent=indent, drop_whitespace=not code, break_on_hyphens=not code
        )
        found += wrapped or [""]
    return found
