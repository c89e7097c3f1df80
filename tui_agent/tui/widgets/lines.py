"""Rows in a scrolling, line-drawn widget: JSON, diffs, help, previews of any length.

Invariant: only the visible rows are composed; scrolling costs the same for ten rows and for fifty thousand.
"""

from collections.abc import Callable, Sequence

from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.scrollbar import dress
from tui_agent.tui.widgets.rows import blank


class Lines(ScrollView):
    """Rows given as strips. `fill` is the style of what no row covers."""

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
        dress(self, self._looks().symbols)

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

    def reveal(self, row: int) -> None:
        """Scroll so that this row is in sight."""
        top, height = self.scroll_offset.y, self.size.height
        if row < top:
            self.scroll_to(y=row, animate=False, force=True)
        elif height and row >= top + height:
            self.scroll_to(y=row - height + 1, animate=False, force=True)
