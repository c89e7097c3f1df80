"""Rows of cells: parts on the left, parts on the right, padded with the background to the full width.

Invariant: a row has exactly the requested width.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_agent.tui.theme.glyphs import Symbols
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.untrusted_text import cell_text, clean_line, fit, split_cells, width

Part: TypeAlias = tuple[str, Style]


def part(text: str, style: Style) -> Part:
    """Return a part of a row (text and style), with control characters removed from the text."""
    return clean_line(text), style


@lru_cache(maxsize=512)
def _meta(intent: str) -> Style:
    return Style(meta={"do": intent})


def with_intent(style: Style, intent: str) -> Style:
    """Return `style` with an intent: an action's name and argument. A click on text in this style runs the intent."""
    return style + _meta(intent)


def intent_of(style: Style) -> str:
    """Return the intent in the style of the text under the mouse; empty if there is none."""
    intent = style.meta.get("do", "")
    return intent if isinstance(intent, str) else ""


def cells(parts: Iterable[Part]) -> int:
    return sum(width(text) for text, _ in parts)


def cut_parts(parts: Sequence[Part], room: int, ellipsis: str = "") -> list[Part]:
    """Cut the parts to `room` cells in total; a cut text ends with `ellipsis`."""
    shown: list[Part] = []
    for text, style in parts:
        if room <= 0:
            break
        wide = width(text)
        if wide > room:
            text = fit(text, room, ellipsis) if ellipsis else split_cells(text, room)[0]
            wide = room
        shown.append((text, style))
        room -= wide
    return shown


def row(
    cells_wide: int,
    left: Sequence[Part],
    right: Sequence[Part] = (),
    *,
    fill: Style,
    margin: int = 2,
    ellipsis: str = "",
) -> Strip:
    """Draw a row: `left` from column 0, and `right` up to `margin` cells before the edge.

    If there is no room for `right`, leave it out; then cut `left` to the width. `fill`: style of all other cells.
    """
    left = [(cell_text(text), style) for text, style in left]
    right = [(cell_text(text), style) for text, style in right]
    right_wide = cells(right)
    if right_wide + margin > cells_wide:
        right, right_wide = [], 0
    room = cells_wide - ((right_wide + margin + 2) if right_wide else 0)
    if cells(left) > room:
        left = cut_parts(left, room, ellipsis)
    used = cells(left)
    parts = [*left, (" " * (cells_wide - used - right_wide - margin * bool(right_wide)), fill), *right]
    if right_wide:
        parts.append((" " * margin, fill))
    return Strip([Segment(text, style) for text, style in parts if text], cells_wide)


def blank_strip(cells_wide: int, fill: Style) -> Strip:
    return Strip([Segment(" " * cells_wide, fill)], cells_wide)


class Pen(NamedTuple):
    """Draws parts and rows on one background.

    - `ground`: the background's colour role
    - `intent`: the action of a click on the drawn texts
    - `chosen`: True if the row is selected
    """

    looks: Looks
    ground: Role
    intent: str = ""
    chosen: bool = False
    margin: int = 2
    """Number of cells between the right side of a row and the edge."""

    def style(self, role: Role = "t1", *, bold: bool = False, underline: bool = False) -> Style:
        """Return the style for text in a role on the background of the pen."""
        style = self.looks.palette.style(role, self.ground, bold=bold, underline=underline)
        return with_intent(style, self.intent) if self.intent else style

    def part(
        self, text: str, role: Role = "t1", *, bold: bool = False, underline: bool = False, intent: str = ""
    ) -> Part:
        """Clean an untrusted text, and return it as a part of a row.

        `intent`: the action of a click on the text.
        """
        style = self.style(role, bold=bold, underline=underline)
        return cell_text(text), with_intent(style, intent) if intent else style

    @property
    def cursor(self) -> Style:
        """The style of the cell under the cursor of a text field."""
        palette = self.looks.palette
        if palette.mode == "full" or self.ground == "selection":
            return palette.style(self.ground, "t1")
        return palette.style("on-accent", "accent")  # reversed; a selected row is reversed already

    @property
    def mark(self) -> Part:
        """The two cells that mark the selected row; two spaces on other rows."""
        mark = f"{self.looks.symbols.chosen} " if self.chosen else "  "
        return mark, self.looks.palette.style("accent", self.ground)

    def first(self, symbol: str, role: Role) -> list[Part]:
        """Return the first columns of a list row: the selection mark and a symbol."""
        return [self.mark, (symbol, self.style(role)), (" ", self.style())]

    def line(self, cells_wide: int, left: Sequence[Part], right: Sequence[Part] = ()) -> Strip:
        """Draw a row; a click on its empty cells does nothing."""
        return row(
            cells_wide,
            left,
            right,
            fill=self.looks.palette.style("t1", self.ground),
            margin=self.margin,
            ellipsis=self.looks.symbols.ellipsis,
        )

    def hanging_rows(
        self, cells_wide: int, first: Sequence[Part], pieces: Sequence[str], style: Style
    ) -> list[Strip]:
        """Draw a row for each piece. The first row begins with `first`; the other rows begin with an indent."""
        indent: Part = (" " * cells(first), self.looks.palette.style("t1", self.ground))
        return [
            self.line(cells_wide, [*([indent] if number else first), (piece, style)])
            for number, piece in enumerate(pieces)
        ]


def state_mark(state: str, symbols: Symbols) -> tuple[str, Role]:
    """Return the symbol and the colour role of a state; an unknown state is shown like `queued`."""
    known: dict[str, tuple[str, Role]] = {
        "done": (symbols.done, "success"),
        **dict.fromkeys(("failed", "lost"), (symbols.failed, "error")),
        **dict.fromkeys(("stopped", "denied", "interrupted"), (symbols.stopped, "warning")),
        "waiting": (symbols.waiting, "warning"),
        **dict.fromkeys(("running", "open"), (symbols.running, "accent")),
    }
    return known.get(state, (symbols.queued, "t3"))


def list_pen(looks: Looks, chosen: bool = False) -> Pen:
    """Return the `Pen` for a row of the list on a list page.

    `chosen`: True if the row is selected.
    """
    return Pen(looks, "selection" if chosen else "s0", chosen=chosen)


class Column(NamedTuple):
    """A column at the right edge of a list.

    - `width`: width in cells
    - `from_width`: the column is shown if the list is at least this wide, in cells
    """

    name: str
    width: int
    from_width: int = 0


def right_columns(
    columns: Sequence[Column], values: Sequence[str | Sequence[Part]], width: int, style: Style
) -> list[Part]:
    """Return the right-aligned value of each column. Columns that need a wider list are left out."""
    parts: list[Part] = []
    for column, value in zip(columns, values, strict=True):
        if width >= column.from_width:
            texts = [(value, style)] if isinstance(value, str) else value
            parts += [(" " * (column.width - cells(texts)), style), *texts]
    return parts


def column_names(first: str, columns: Sequence[Column], width: int, looks: Looks) -> Strip:
    """Draw the names of a list's columns."""
    quiet = looks.palette.style("t3", "s0")
    names = right_columns(columns, [column.name for column in columns], width, quiet)
    return row(width, [(f"    {first}", quiet)], names, fill=quiet)


def wrap(text: str, room: int) -> list[str]:
    """Wrap a cleaned text to lines of at most `room` cells, at spaces if possible."""
    room = max(1, room)
    lines: list[str] = []
    for line in text.split("\n"):
        rest = line
        while width(rest) > room:
            head, _ = split_cells(rest, room)
            head = head or rest[:1]
            # Break at the last space, unless the piece already ends before one.
            end = head.rfind(" ") if rest[len(head) : len(head) + 1] != " " else len(head)
            end = end if end > 0 else len(head)
            lines.append(rest[:end])
            rest = rest[end:].removeprefix(" ")
        lines.append(rest)
    return lines
