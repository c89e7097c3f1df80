"""Scrolling, line-drawn widgets: rows to read, and a list of rows of which one is chosen.

Invariant: only the rows in sight are composed; scrolling costs the same for ten rows and for fifty thousand.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, TypeAlias

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.scrollbar import style_scrollbar
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import Part, blank, row

DrawRow: TypeAlias = Callable[[int, int, bool], Strip]
"""Draws the row of an index for a width, chosen or not."""


class ListRow(NamedTuple):
    """Draws a row of a list on its ground."""

    looks: Looks
    chosen: bool

    @property
    def ground(self) -> Role:
        """Return the surface of the row."""
        return "selection" if self.chosen else "s0"

    def style(self, role: Role = "t1", *, bold: bool = False, underline: bool = False) -> Style:
        """Return a style on the row's ground."""
        return self.looks.palette.rich(role, self.ground, bold=bold, underline=underline)

    def first(self, symbol: str, role: Role) -> list[Part]:
        """Return the first columns: the mark of the chosen row, and a symbol."""
        mark = self.looks.symbols.chosen if self.chosen else " "
        return [
            (mark, self.style("accent")),
            (" ", self.style()),
            (symbol, self.style(role)),
            (" ", self.style()),
        ]

    def line(self, width: int, left: Sequence[Part], right: Sequence[Part] = ()) -> Strip:
        """Return the row."""
        return row(width, left, right, fill=self.style(), ellipsis=self.looks.symbols.ellipsis)


class Lines(ScrollView):
    """Rows given as strips: JSON, diffs, help, previews of any length. `fill` is the style of what no row covers."""

    ALLOW_SELECT = False
    can_focus = False

    def __init__(self, looks: Callable[[], Looks], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._looks = looks
        self.strips: Sequence[Strip] = ()
        self.fill: Style = Style()
        self.moved: Callable[[], None] = lambda: None
        """Called when other rows are in sight."""

    def on_mount(self) -> None:
        style_scrollbar(self, self._looks().symbols)

    def set_rows(self, rows: Sequence[Strip], fill: Style, *, keep: bool = True) -> None:
        """Show these rows; the position stays where it was if `keep` is set."""
        self.strips, self.fill = rows, fill
        self.virtual_size = Size(self.size.width, len(rows))
        if not keep:
            self.scroll_to(y=0, animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        width = self.size.width
        if at < len(self.strips):
            return self.strips[at].adjust_cell_length(width, self.fill)
        return blank(width, self.fill)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.moved()

    def reveal(self, row: int, *, below: int = 0) -> None:
        """Scroll so that this row, and so many below it, are in sight."""
        top, height = self.scroll_offset.y, self.size.height - below
        if row < top:
            self.scroll_to(y=row, animate=False, force=True)
        elif height > 0 and row >= top + height:
            self.scroll_to(y=row - height + 1, animate=False, force=True)


class Listing(Lines, can_focus=True):
    """A list on the page's surface."""

    rows_below: ClassVar[int] = 0
    """Empty rows below the last row; the first of them stays in sight below the chosen row."""
    surface: Role = "s0"

    class Chosen(Message):
        """Another row is chosen."""

    class Used(Message):
        """The chosen row was pressed again: it is to be used."""

    def __init__(self, looks: Callable[[], Looks], draw: DrawRow) -> None:
        super().__init__(looks)
        self._draw = draw
        self.count = 0
        self.at = 0

    def on_resize(self) -> None:
        """The chosen row stays in sight."""
        self.virtual_size = Size(self.size.width, self.count + self.rows_below)
        self.call_after_refresh(self._reveal)

    def set_count(self, count: int, at: int, *, reveal: bool = True) -> None:
        """Show so many rows, of which this one is chosen."""
        self.count, self.at = count, max(0, min(at, count - 1))
        self.virtual_size = Size(self.size.width, count + self.rows_below)
        self.refresh()
        if reveal:
            self.call_after_refresh(self._reveal)

    def render_line(self, y: int) -> Strip:
        at, width = y + self.scroll_offset.y, self.size.width
        if at >= self.count:
            return blank(width, self._looks().palette.rich("t1", self.surface))
        return self._draw(at, width, at == self.at).adjust_cell_length(width)

    def move(self, direction: int) -> None:
        """Choose the row above or below."""
        self.choose(self.at + direction)

    def move_page(self, direction: int) -> None:
        """Choose a row that is a page away."""
        self.choose(self.at + direction * max(1, self.size.height - 2))

    def move_to_end(self, direction: int) -> None:
        """Choose the first or the last row."""
        self.choose(self.at + direction * self.count)

    def choose(self, at: int) -> None:
        """Choose this row, or the one at the end that it is nearest to."""
        at = max(0, min(self.count - 1, at))
        if at != self.at and self.count:
            old, self.at = self.at, at
            self._reveal()
            top = self.scroll_offset.y
            self.refresh(*(Region(0, one - top, self.size.width, 1) for one in (old, at)))
            self.post_message(self.Chosen())

    def _reveal(self) -> None:
        self.reveal(self.at, below=int(self.rows_below > 0))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        at = event.y + self.scroll_offset.y
        if at >= self.count:
            return
        if at == self.at:
            self.post_message(self.Used())
        self.choose(at)
