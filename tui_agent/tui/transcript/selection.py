"""A selection over rows of entries, and the source text that stands for it.

Invariant: ends are kept as (slot, row, character), so nothing that happens above moves them; what is copied is source,
never gutter, rail or line numbers.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tui_agent.tui.text import take
from tui_agent.tui.transcript.rows import DECOR, Row


class Point(NamedTuple):
    """A place in the transcript: slot, row of the slot, character of the row."""

    slot: int
    row: int
    char: int


class Selection(NamedTuple):
    """From `start` up to, not including, `end`; in order."""

    start: Point
    end: Point

    @classmethod
    def between(cls, one: Point, other: Point) -> "Selection":
        """The selection between two points in either order."""
        return cls(one, other) if one <= other else cls(other, one)

    def on_row(self, slot: int, row: int, length: int) -> tuple[int, int] | None:
        """The selected characters of a row, None where there are none."""
        at = (slot, row)
        if not (self.start[:2] <= at <= self.end[:2]):
            return None
        low = self.start.char if at == self.start[:2] else 0
        high = self.end.char if at == self.end[:2] else length
        return (low, min(high, length)) if low < high else None


def char_at(row: Row, x: int) -> int:
    """The character of the row that column `x` stands in."""
    return len(take(row.text(), max(x, 0))[0])


def word_at(row: Row, char: int) -> tuple[int, int]:
    """The bounds of the word at a character."""
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
    """What the selected characters of one entry's rows stand for.

    `source` is the text that the runs' offsets point into, None where shown text is its own source.
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


def _span(rows: Sequence[Row], bounds: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """The lowest and highest source offset under the selected characters, -1 where there is none."""
    low, high = -1, -1
    for row, bound in zip(rows, bounds, strict=True):
        if bound is None:
            continue
        at = 0
        for run in row.runs:
            first, last = max(bound[0] - at, 0), min(bound[1] - at, len(run.text))
            if run.src >= 0 and first < last:
                low = run.src + first if low < 0 else min(low, run.src + first)
                high = max(high, run.src + last)
            at += len(run.text)
    return low, high


def _literal(row: Row, bound: tuple[int, int]) -> str:
    out = ""
    at = 0
    for run in row.runs:
        first, last = max(bound[0] - at, 0), min(bound[1] - at, len(run.text))
        if first < last and run.src != DECOR:
            out += run.text[first:last]
        elif first < last and out and not out.endswith(" "):
            # Columns of one row are told apart by a space.
            out += " "
        at += len(run.text)
    return out
