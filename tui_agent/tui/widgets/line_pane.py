"""The base of line-drawn widgets.

Invariant: `draw` gives the rows for the present size; only rows that differ from the last ones are painted again, and
nothing here ever asks for a layout.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import Pen, blank, intent_of

if TYPE_CHECKING:
    from tui_agent.tui.layout import Shape


class Intent(Message):
    """A wish of the user: the name of an action, with its argument."""

    def __init__(self, name: str, argument: str = "") -> None:
        super().__init__()
        self.name = name
        self.argument = argument


class LinePane(Widget):
    """Draws whole rows. A click on a part that carries an intent posts it."""

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
        """What to draw with now."""
        return self._looks()

    @property
    def shape(self) -> "Shape":
        """The present layout of the app."""
        return cast("Shape", cast(Any, self.app).shape)

    @property
    def pen(self) -> Pen:
        """The pen for this pane's surface."""
        return Pen(self.looks, self.surface)

    def style(self, text: Role = "t1", *, bold: bool = False, underline: bool = False) -> Style:
        """Return a style on this pane's surface."""
        return self.looks.palette.rich(text, self.surface, bold=bold, underline=underline)

    def draw(self, width: int, height: int) -> list[Strip]:
        """All rows for this size; fewer than `height` are filled with the surface."""
        raise NotImplementedError

    def show(self) -> None:
        """Draw again and paint only the rows that changed."""
        width, height = self.size
        if not width or not height or not self.is_attached:
            self._rows = None
            return
        old = self._rows
        rows = self._fresh(width, height)
        if old is None or len(old) != len(rows):
            self.refresh()
            return
        changed = [
            Region(0, y, width, 1) for y, (was, now) in enumerate(zip(old, rows, strict=True)) if was != now
        ]
        if changed:
            self.refresh(*changed)

    def _fresh(self, width: int, height: int) -> list[Strip]:
        rows = self.draw(width, height)[:height]
        filling = blank(width, self.style())
        rows.extend(filling for _ in range(height - len(rows)))
        self._rows = rows
        self._drawn_for = (width, height, self.looks.palette.key, self.looks.symbols.name)
        return rows

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        rows = self._rows
        if rows is None or self._drawn_for != (
            width,
            height,
            self.looks.palette.key,
            self.looks.symbols.name,
        ):
            rows = self._fresh(width, height)
        return rows[y] if y < len(rows) else blank(width, self.style())

    def on_click(self, event: events.Click) -> None:
        post_intent(self, event)


def post_intent(widget: Widget, event: events.Click) -> None:
    """Post the intent of what was clicked, if it carries one."""
    name, _, argument = intent_of(event.style).partition(" ")
    if name:
        event.stop()
        widget.post_message(Intent(name, argument))
