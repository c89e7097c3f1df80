"""A selection over rows of the transcript, and the source text of the selection.

Invariant: only source text is copied, never line numbers or other decoration.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tui_agent.tui.transcript.styled_rows import DECOR, Row, TextRun
from tui_agent.tui.untrusted_text import split_cells


class Point(NamedTuple):
    """A position in the transcript: index of the entry, row within the entry, character within the row."""

    slot: int
    row: int
    char: int


class Selection(NamedTuple):
    """The selected range of the transcript, from `start` up to but not including `end`."""

    start: Point
    end: Point

    @classmethod
    def from_points(cls, first: Point, second: Point) -> "Selection":
        """Return the selection between two points, given in any order."""
        return cls(min(first, second), max(first, second))

    def on_row(self, slot: int, row: int, length: int) -> tuple[int, int] | None:
        """Return the selected (start, end) in a row of `length` characters; None if nothing is selected."""
        position = (slot, row)
        if not (self.start[:2] <= position <= self.end[:2]):
            return None
        low = self.start.char if position == self.start[:2] else 0
        high = self.end.char if position == self.end[:2] else length
        return (low, min(high, length)) if low < high else None


def char_at(row: Row, x: int) -> int:
    """Return the index of the character in column `x` of a row."""
    return len(split_cells(row.text(), max(x, 0))[0])


def word_at(row: Row, char: int) -> tuple[int, int]:
    """Return the (start, end) bounds of the word at a character."""
    text = row.text()
    if char >= len(text) or text[char].isspace():
        return char, char
    low = high = char
    while low > 0 and not text[low - 1].isspace():
        low -= 1
    while high < len(text) and not text[high].isspace():
        high += 1
    return low, high


def selected_source(rows: Sequence[Row], bounds: Sequence[tuple[int, int] | None], source: str | None) -> str:
    """Return the source of the selected text in one entry.

    - `bounds`: the selected (start, end) in each row; None for a row without a selection
    - `source`: the source of the rows, e.g. Markdown; None if the rows show it unchanged
    """
    if source is not None:
        low, high = _span(rows, bounds)
        if low >= 0:
            return source[low:high]
    lines: list[str] = []
    for row, bound in zip(rows, bounds, strict=True):
        if bound is None:
            continue
        piece = _literal(row, bound)
        if row.joined and lines:
            lines[-1] += piece
        else:
            lines.append(piece)
    return "\n".join(line.rstrip() for line in lines)


def _selected_parts(row: Row, bound: tuple[int, int]) -> Iterator[tuple[TextRun, int, int]]:
    """Yield (run, start, end) for each run of `row` with selected characters; the bounds count within the run."""
    start = 0
    for run in row.runs:
        first, last = max(bound[0] - start, 0), min(bound[1] - start, len(run.text))
        if first < last:
            yield run, first, last
        start += len(run.text)


def _span(rows: Sequence[Row], bounds: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """Return the lowest and highest source offset of the selected characters; (-1, -1) if none has an offset."""
    parts = [
        (run.src + first, run.src + last)
        for row, bound in zip(rows, bounds, strict=True)
        if bound is not None
        for run, first, last in _selected_parts(row, bound)
        if run.src >= 0
    ]
    return min((low for low, _ in parts), default=-1), max((high for _, high in parts), default=-1)


def _literal(row: Row, bound: tuple[int, int]) -> str:
    text = ""
    for run, first, last in _selected_parts(row, bound):
        if run.src != DECOR:
            text += run.text[first:last]
        elif text and not text.endswith(" "):
            # Separate the columns of a row by a space.
            text += " "
    return text
