"""Where things stand in a comparison at one width, and rows of pieces that begin at fixed columns.

Invariant: pure; what one column has never runs into the next.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.style import Style
from textual.strip import Strip

from tui_agent.tui.layout import MIDDLE, SIDE, WIDE
from tui_agent.tui.widgets.rows import Part, cells, cut, row

MARGIN = 2
TINY = 30
"""Below so many columns there is no room for labels."""


class Columns(NamedTuple):
    """Columns of labels and of both sides' figures; `both` False: only the chosen side has one, at `left`.

    `beside` is where the right one of two texts beside each other begins, 0 where they stand below each other.
    """

    width: int
    labels: int
    left: int
    right: int
    beside: int

    @property
    def both(self) -> bool:
        """Whether both sides are shown at once."""
        return self.right > 0

    @property
    def texts(self) -> int:
        """Cells of a text that stands alone, or left of another."""
        return (self.beside or self.width) - MARGIN - self.labels

    def room(self, right: bool) -> int:
        """Cells that a side's figures have."""
        end = self.width if right or not self.both else self.right
        return end - MARGIN - (self.right if right and self.both else self.left)


def columns(width: int) -> Columns:
    """Where things stand at this width."""
    if width >= WIDE:
        return Columns(width, 4, 22, width // 2 + 2, width // 2 + 2)
    if width >= SIDE:
        middle = width // 2 + 2
        return Columns(width, 4, 22, middle, middle)
    if width >= MIDDLE:
        left = 14
        return Columns(width, 2, left, left + (width - left) // 2, 0)
    return Columns(width, 2, 14, 0, 0) if width >= TINY else Columns(width, 0, 2, 0, 0)


def across(
    width: int, pieces: Iterable[tuple[int, int, Sequence[Part]]], fill: Style, ellipsis: str
) -> Strip:
    """One row of pieces: each from its column on, cut at its room."""
    parts: list[Part] = []
    at = 0
    for column, room, piece in pieces:
        parts += [(" " * (column - at), fill), *cut(piece, room, ellipsis)]
        at = max(at, column) + min(cells(piece), room)
    return row(width, parts, fill=fill)
