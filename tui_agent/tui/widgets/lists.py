"""Widgets that draw their own rows: panes of fixed size, scrolling rows to read, and a list of items with a selection.

Invariant: a pane repaints only changed rows, and a scrolling widget draws only visible rows.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from tui_agent.tui.screen_layout import Shape
from tui_agent.tui.theme.scrollbar import style_scrollbar
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.widgets.rows import Pen, blank_strip, intent_of, list_pen, wrap


class Intent(Message):
    """A request of the user, posted as a message: the name of an action of the app, and its argument.

    `screen`: the screen that must be on top when the action runs; None for any screen.
    """

    def __init__(self, name: str, argument: str = "", screen: Screen[object] | None = None) -> None:
        super().__init__()
        self.name = name
        self.argument = argument
        self.screen = screen


class HasLooks:
    """Mixin for widgets and screens with the app's look, on the background `surface`."""

    surface: Role = "s0"

    @property
    def looks(self) -> Looks:
        return cast(Looks, cast(Any, self).app.looks)

    @property
    def pen(self) -> Pen:
        """The pen for drawing on the background."""
        return Pen(self.looks, self.surface)

    def style(self, text: Role = "t1", *, bold: bool = False, underline: bool = False) -> Style:
        """Return the style for text in the colour role `text` on the background `surface`."""
        return self.looks.palette.style(text, self.surface, bold=bold, underline=underline)


class LinePane(HasLooks, Widget):
    """A widget that draws whole rows. A click on a part with an intent posts the `Intent`."""

    ALLOW_SELECT = False
    _rows: list[Strip] | None = None
    _drawn_for: tuple[object, ...] = ()

    @property
    def shape(self) -> Shape:
        return cast(Shape, cast(Any, self.app).shape)

    @abstractmethod
    def draw(self, width: int, height: int) -> list[Strip]:
        """Draw all rows for this size; missing rows are filled with the background."""

    def show(self) -> None:
        """Draw again, and repaint only the changed rows."""
        width, height = self.size
        if not width or not height or not self.is_attached:
            self._rows = None  # Not visible yet: `render_line` draws the rows when it is.
            return
        old, new = self._rows, self._draw_rows()
        if old is None or len(old) != len(new):
            self.refresh()
            return
        changed = [y for y in range(len(new)) if old[y] != new[y]]
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def _dependencies(self) -> tuple[object, ...]:
        """Return the values that every row depends on, such as size and colours. A change of one redraws all rows."""
        return *self.size, self.looks.palette.key, self.looks.symbols.name

    def _draw_rows(self) -> list[Strip]:
        width, height = self.size
        rows = self.draw(width, height)[:height]
        rows += [blank_strip(width, self.style())] * (height - len(rows))
        self._rows, self._drawn_for = rows, self._dependencies()
        return rows

    def render_line(self, y: int) -> Strip:
        rows = self._rows
        if rows is None or self._drawn_for != self._dependencies():
            rows = self._draw_rows()
        return rows[y] if y < len(rows) else blank_strip(self.size.width, self.style())

    def on_click(self, event: events.Click) -> None:
        post_intent(self, event)


def post_intent(widget: Widget, event: events.Click) -> None:
    """Post the intent of the clicked text, if the text has one."""
    name, _, argument = intent_of(event.style).partition(" ")
    if name:
        event.stop()
        widget.post_message(Intent(name, argument))


ItemT = TypeVar("ItemT")


class Lines(HasLooks, ScrollView):
    """Scrolling rows given as strips: JSON, diffs, help, previews of any length.

    `fill`: style of the cells without a strip.
    """

    ALLOW_SELECT = False
    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.strips: Sequence[Strip] = ()
        self.fill: Style = Style()
        self.moved: Callable[[], None] = lambda: None
        """Called after the rows were scrolled."""

    def on_mount(self) -> None:
        style_scrollbar(self, self.looks.symbols)

    def set_rows(self, rows: Sequence[Strip], fill: Style, *, keep: bool = True) -> None:
        """Show these rows; if `keep` is True, keep the scroll position."""
        self.strips, self.fill = rows, fill
        self.virtual_size = Size(self.size.width, len(rows))
        if not keep:
            self.scroll_to(y=0, animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        number, width = y + self.scroll_offset.y, self.size.width
        if number < len(self.strips):
            return self.strips[number].adjust_cell_length(width, self.fill)
        return blank_strip(width, self.fill)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.moved()

    def reveal(self, row: int, *, below: int = 0) -> None:
        """Scroll until this row and `below` more rows after it are visible."""
        top, height = self.scroll_offset.y, self.size.height - below
        if row < top:
            self.scroll_to(y=row, animate=False, force=True)
        elif height > 0 and row >= top + height:
            self.scroll_to(y=row - height + 1, animate=False, force=True)


class ScrollsLines(HasLooks):
    """Mixin for screens and sheets with keys that scroll."""

    scrolled: Lines

    def scroll_rows(self, count: int) -> None:
        self.scrolled.scroll_relative(y=count, animate=False, force=True)

    def scroll_screenful(self) -> None:
        self.scroll_page(1)

    def scroll_page(self, direction: int) -> None:
        """Scroll by a page: up if `direction` is negative, otherwise down."""
        self.scroll_rows(direction * self.scrolled.size.height)

    def scroll_to_end(self, direction: int) -> None:
        """Scroll to the first row (`direction` -1) or to the last (1)."""
        self.scrolled.scroll_to(
            y=0 if direction < 0 else len(self.scrolled.strips), animate=False, force=True
        )


class ChoiceList(Lines, Generic[ItemT], can_focus=True):
    """A list with one item per row.

    - `draw`: function that draws a selected or unselected item in a given width
    - `empty_text`: the text shown if there are no items
    """

    rows_below: ClassVar[int] = 0
    """Number of empty rows after the last item."""

    class Chosen(Message):
        """Posted when another item is selected."""

    class Used(Message):
        """Posted when the user clicks the selected row, to run the main action of its item."""

    def __init__(self, draw: Callable[[ItemT, int, Pen], Strip]) -> None:
        super().__init__()
        self.draw_item = draw
        self.items: Sequence[ItemT] = ()
        self.index = 0
        self.empty_text = ""
        self.can_choose: Callable[[ItemT], bool] = lambda item: True
        """Function that returns True for selectable items. It returns False for headings and separators."""
        self.key: Callable[[ItemT], object] = lambda item: item
        """Function that returns an item's key, to find the item again after a reload."""

    @property
    def chosen(self) -> ItemT | None:
        """The selected item; None if no item can be selected."""
        item = self.items[self.index] if self.index < len(self.items) else None
        return item if item is not None and self.can_choose(item) else None

    def on_resize(self) -> None:
        self._fit_rows(reveal=True)

    def set_items(
        self, items: Sequence[ItemT], *, held: object = None, otherwise: int = 0, reveal: bool = True
    ) -> None:
        """Replace the items of the list, and keep the selection.

        - `held`: key of the item to select; None for the current item
        - `otherwise`: index of the row to select if no item has this key
        - `reveal`: True to scroll to the selected row
        """
        chosen = self.chosen
        if held is None and chosen is not None:
            held = self.key(chosen)
        self.items = items
        matching = (i for i, item in enumerate(items) if held is not None and self.key(item) == held)
        self.select(next(matching, otherwise), reveal=reveal)

    def select(self, index: int, *, reveal: bool = True) -> None:
        """Select this row without posting a message."""
        self.index = self._nearest_selectable(max(0, min(index, len(self.items) - 1)), 1)
        self._fit_rows(reveal=reveal)

    def _fit_rows(self, *, reveal: bool) -> None:
        self.virtual_size = Size(self.size.width, len(self.items) + self.rows_below)
        self.refresh()
        if reveal:
            # Later, because Textual limits the scroll offset by the size of the last layout.
            self.call_after_refresh(self._reveal)

    def render_line(self, y: int) -> Strip:
        number, width = y + self.scroll_offset.y, self.size.width
        if number < len(self.items):
            pen = list_pen(self.looks, number == self.index)
            return self.draw_item(self.items[number], width, pen).adjust_cell_length(width)
        line = list_pen(self.looks)
        message = [] if self.items else wrap(self.empty_text, width - 8)[number : number + 1]
        return line.line(width, [("    ", line.style()), *((text, line.style("t3")) for text in message)])

    def move(self, direction: int) -> None:
        self.choose(self.index + direction)

    def move_page(self, direction: int) -> None:
        self.choose(self.index + direction * max(1, self.size.height - 2))

    def move_to_end(self, direction: int) -> None:
        self.choose(self.index + direction * len(self.items))

    def choose(self, index: int) -> None:
        """Select this row, or the nearest selectable row, and post `Chosen`."""
        index = self._nearest_selectable(
            max(0, min(len(self.items) - 1, index)), -1 if index < self.index else 1
        )
        if index != self.index and self.items:
            old, self.index = self.index, index
            self._reveal()
            top = self.scroll_offset.y
            self.refresh(*(Region(0, number - top, self.size.width, 1) for number in (old, index)))
            self.post_message(self.Chosen())

    def _nearest_selectable(self, index: int, direction: int) -> int:
        """Return the first selectable row from `index` on in `direction`; if there is none, search the other direction."""
        for offset in (direction, -direction):
            number = index
            while 0 <= number < len(self.items):
                if self.can_choose(self.items[number]):
                    return number
                number += offset
        return 0

    def _reveal(self) -> None:
        if self.index and self.index == self._nearest_selectable(0, 1):
            self.reveal(0)  # Also show the heading of its group.
        self.reveal(self.index, below=int(self.rows_below > 0))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        number = event.y + self.scroll_offset.y
        if number >= len(self.items):
            return
        if number == self.index:
            self.post_message(self.Used())
        self.choose(number)
