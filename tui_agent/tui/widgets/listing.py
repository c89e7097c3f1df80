"""Rows of which one is chosen: arrows, paging, the wheel and a press move; only rows in sight are drawn.

Invariant: the rows are whoever made the list's; it knows how many there are and which one is chosen.
"""

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.scrollbar import dress
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import blank

DrawRow: TypeAlias = Callable[[int, int, bool], Strip]
"""The row of an index, for a width, chosen or not."""


class Listing(ScrollView, can_focus=True):
    """A list on the page's surface."""

    ALLOW_SELECT = False
    rows_below: ClassVar[int] = 0
    """Empty rows below the last row; the first of them stays in sight below the chosen row."""
    surface: Role = "s0"

    class Chosen(Message):
        """Another row is chosen."""

    class Used(Message):
        """The chosen row was pressed again: it is to be used."""

    def __init__(self, looks: Callable[[], Looks], draw: DrawRow) -> None:
        super().__init__()
        self._looks = looks
        self._draw = draw
        self.count = 0
        self.at = 0

    def on_mount(self) -> None:
        """Dress the scrollbar."""
        dress(self, self._looks().symbols)

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
        top, height = self.scroll_offset.y, self.size.height - bool(self.rows_below)
        if self.at < top:
            self.scroll_to(y=self.at, animate=False, force=True)
        elif height > 0 and self.at >= top + height:
            self.scroll_to(y=self.at - height + 1, animate=False, force=True)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        at = event.y + self.scroll_offset.y
        if at >= self.count:
            return
        if at == self.at:
            self.post_message(self.Used())
        self.choose(at)
