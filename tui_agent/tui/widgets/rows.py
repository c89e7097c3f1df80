"""Rows of cells: parts on the left, parts on the right, padded to the width with the surface's ground.

Invariant: a row is exactly as wide as it was asked to be. Where both sides do not fit the right one stays whole and
the left one is cut; no text goes into a row but through `tui.text`.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_agent.tui.actions import KeyHint
from tui_agent.tui.text import cell_text, clean_line, fit, take, width
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role

Part: TypeAlias = tuple[str, Style]


def part(text: str, style: Style) -> Part:
    """A piece of a row from any text."""
    return clean_line(text), style


@lru_cache(maxsize=512)
def _meta(do: str) -> Style:
    return Style(meta={"do": do})


def doing(style: Style, do: str) -> Style:
    """The style with an intent that a click on it means; panes read it back by `intent_of`."""
    return style + _meta(do)


def intent_of(style: Style) -> str:
    """The intent under the mouse, or an empty string."""
    found = style.meta.get("do", "")
    return found if isinstance(found, str) else ""


def cells(parts: Iterable[Part]) -> int:
    """How many cells the parts take."""
    return sum(width(text) for text, _ in parts)


def cut(parts: Sequence[Part], room: int, ellipsis: str = "") -> list[Part]:
    """The parts, cut at `room` cells; the cut is marked where an ellipsis is given."""
    kept: list[Part] = []
    for text, style in parts:
        if room <= 0:
            break
        wide = width(text)
        if wide > room:
            text = fit(text, room, ellipsis) if ellipsis else take(text, room)[0]
            wide = room
        kept.append((text, style))
        room -= wide
    return kept


def row(
    cells_wide: int,
    left: Sequence[Part],
    right: Sequence[Part] = (),
    *,
    fill: Style,
    margin: int = 2,
    ellipsis: str = "",
) -> Strip:
    """One row: `left` from column 0, `right` ending `margin` cells before the edge, `fill` everywhere else."""
    left = [(cell_text(text), style) for text, style in left]
    right = [(cell_text(text), style) for text, style in right]
    right_wide = cells(right)
    if right_wide + margin > cells_wide:
        right, right_wide = [], 0
    room = cells_wide - ((right_wide + margin + 2) if right_wide else 0)
    if cells(left) > room:
        left = cut(left, room, ellipsis)
    segments = [Segment(text, style) for text, style in left if text]
    used = cells(left)
    if right_wide:
        segments.append(Segment(" " * (cells_wide - used - right_wide - margin), fill))
        segments.extend(Segment(text, style) for text, style in right if text)
        segments.append(Segment(" " * margin, fill))
    elif used < cells_wide:
        segments.append(Segment(" " * (cells_wide - used), fill))
    return Strip(segments, cells_wide)


def blank(cells_wide: int, fill: Style) -> Strip:
    """An empty row."""
    return Strip([Segment(" " * cells_wide, fill)], cells_wide)


class Pen(NamedTuple):
    """Draws parts and rows on one ground; a click on its text means `intent`, if it has one."""

    looks: Looks
    ground: Role
    intent: str = ""
    chosen: bool = False
    margin: int = 2
    """Cells between the right side of a row and the edge."""

    def style(self, role: Role = "t1", *, bold: bool = False, underline: bool = False) -> Style:
        """Return the style of a role on this ground."""
        style = self.looks.palette.rich(role, self.ground, bold=bold, underline=underline)
        return doing(style, self.intent) if self.intent else style

    def part(
        self, text: str, role: Role = "t1", *, bold: bool = False, underline: bool = False, intent: str = ""
    ) -> Part:
        """Return any text as a part of a row, cleaned; `intent` is what a click on it means."""
        style = self.style(role, bold=bold, underline=underline)
        return cell_text(text), doing(style, intent) if intent else style

    @property
    def mark(self) -> Part:
        """The mark of the chosen row, two cells; blanks on other rows."""
        mark = f"{self.looks.symbols.chosen} " if self.chosen else "  "
        return mark, self.looks.palette.rich("accent", self.ground)

    def line(self, cells_wide: int, left: Sequence[Part], right: Sequence[Part] = ()) -> Strip:
        """Return a row; its empty cells have no intent."""
        return row(
            cells_wide,
            left,
            right,
            fill=self.looks.palette.rich("t1", self.ground),
            margin=self.margin,
            ellipsis=self.looks.symbols.ellipsis,
        )

    def hanging_rows(
        self, cells_wide: int, first: Sequence[Part], pieces: Sequence[str], style: Style
    ) -> list[Strip]:
        """Return a row for each piece: the first behind `first`, the others indented as far."""
        indent: Part = (" " * cells(first), self.looks.palette.rich("t1", self.ground))
        return [
            self.line(cells_wide, [*([indent] if number else first), (piece, style)])
            for number, piece in enumerate(pieces)
        ]


def wrap(text: str, room: int) -> list[str]:
    """A cleaned text as lines of at most `room` cells, broken at spaces where there are some, nothing left out."""
    room = max(1, room)
    lines: list[str] = []
    for line in text.split("\n"):
        rest = line
        while width(rest) > room:
            head, _ = take(rest, room)
            head = head or rest[:1]
            at = head.rfind(" ") if rest[len(head) : len(head) + 1] != " " else len(head)
            at = at if at > 0 else len(head)
            lines.append(rest[:at])
            rest = rest[at:].removeprefix(" ")
        lines.append(rest)
    return lines


def wide(keys: Sequence[KeyHint]) -> int:
    """Cells of a row of keys."""
    return sum(len(key) + len(word) + 4 for key, word, _ in keys) - 3
