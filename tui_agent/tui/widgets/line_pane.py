"""The base class of widgets that draw their own rows.

Invariant: `draw` returns the rows for the current size; only changed rows are repainted, and nothing here causes a
layout.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, cast

from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui_agent.tui.layout import Shape
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.widgets.rows import Pen, blank_strip, intent_of


class Intent(Message):
    """A request of the user, posted as a message: the name of an action of the app, and its argument."""

    def __init__(self, name: str, argument: str = "") -> None:
        super().__init__()
        self.name = name
        self.argument = argument


class LinePane(Widget):
    """A widget that draws whole rows. A click on a part with an intent posts the intent as an `Intent`."""

    ALLOW_SELECT = False
    surface: Role = "s0"

    def __init__(
        self, looks: Callable[[], Looks], *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._looks = looks
        self._rows: list[Strip] | None = None
        self._drawn_for: tuple[object, ...] = ()

    @property
    def looks(self) -> Looks:
        return self._looks()

    @property
    def shape(self) -> Shape:
        return cast(Shape, cast(Any, self.app).shape)

    @property
    def pen(self) -> Pen:
        """The pen that draws parts and rows on the background of the pane."""
        return Pen(self.looks, self.surface)

    def style(self, text: Role = "t1", *, bold: bool = False, underline: bool = False) -> Style:
        """Return a style for text on the background of the pane."""
        return self.looks.palette.style(text, self.surface, bold=bold, underline=underline)

    @abstractmethod
    def draw(self, width: int, height: int) -> list[Strip]:
        """Draw all rows for this size; missing rows are filled with the background."""

    def show(self) -> None:
        """Draw again, and repaint only the rows that changed."""
        width, height = self.size
        if not width or not height or not self.is_attached:
            self._rows = None
            return
        old, new = self._rows, self._draw_rows()
        if old is None or len(old) != len(new):
            self.refresh()
            return
        changed = [y for y in range(len(new)) if old[y] != new[y]]
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def _dependencies(self) -> tuple[object, ...]:
        """Return everything that the rows depend on besides the data of the pane."""
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
