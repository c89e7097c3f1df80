"""A list page with a text field above the list, e.g. for a search."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.strip import Strip

from tui_agent.tui.app_context import AppContext
from tui_agent.tui.keys_and_commands import Scope
from tui_agent.tui.screens.list_page import MIN_HEIGHT_FOR_HEADS, Page, PageHead
from tui_agent.tui.untrusted_text import fit
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.lists import ItemT
from tui_agent.tui.widgets.rows import Part, Pen, cells, row

HEAD_ROWS = 6
"""Height of the head with empty rows between its parts."""


class SearchHead(PageHead):
    """The top of a search page: the title with counts, the field, and the column names."""

    def __init__(self) -> None:
        super().__init__()
        self.field = Field()
        self.typing = True
        """True if typed keys go into the field."""
        self.hint = ""
        """A hint about the field, shown while the field is empty."""
        self.status = ""
        """A text shown in place of the hint, or next to typed text."""
        self.label = ""
        """Name of the typed value, such as `new name`; empty if the field contains a search."""

    def draw(self, width: int, height: int) -> list[Strip]:
        title = row(width, [("    ", self.style()), *self.title], self.right, fill=self.style())
        rows = [title, self._draw_field(width)]
        rows += [self.columns(width)] if self.columns is not None else []
        if height < HEAD_ROWS:
            return rows[:height]
        empty = row(width, [], fill=self.style())
        return [line for drawn in rows for line in (empty, drawn)]

    def _draw_field(self, width: int) -> Strip:
        rich = self.looks.palette.style
        quiet, text = rich("t3", "s2"), rich("t1", "s2")
        label: list[Part] = [(f"{self.label} ", rich("t2", "s2"))] if self.label else []
        note = self.status or ("" if self.label else self.hint)
        room = max(8, width - 6 - cells(label))
        right = note if self.field.text and len(note) + len(self.field.text) + 6 < room else ""
        space = max(4, room - len(right) - 2)
        typed: list[Part] = [(fit(self.field.text, space, self.looks.symbols.ellipsis), text)]
        if self.typing or not self.field.text:
            typed = self.field.parts(space, Pen(self.looks, "s2"), note or "a name", is_open=self.typing)
        inner = row(width - 6, [*label, *typed], [(right, quiet)] if right else (), fill=text, margin=1)
        bar = (self.looks.symbols.bar, rich("accent" if self.typing else "border-strong", "s0"))
        left = row(4, [("  ", self.style()), bar, (" ", text)], fill=self.style(), margin=0)
        return Strip([*left, *inner, *row(2, [], fill=self.style())], width)


class SearchPage(Page[ItemT]):
    """A list page with a field above the list.

    `find_scope`: the scope of the keys for the field.
    """

    find_scope: ClassVar[Scope]

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.head = self.top = SearchHead()
        self.head.columns = self.column_names

    def fit(self) -> None:
        super().fit()
        height = self.app.size.height
        self.head.styles.height = HEAD_ROWS if height >= MIN_HEIGHT_FOR_HEADS else 3 if height >= 12 else 2

    def key_scopes(self) -> Sequence[Scope]:
        return (self.find_scope, "rows") if self.top.typing else super().key_scopes()

    def move_to_end(self, direction: int) -> bool:
        """Select the first or the last row; return False while the user types."""
        return not self.top.typing and super().move_to_end(direction)

    def start_typing(self) -> None:
        self.set_typing(True)

    def set_typing(self, typing: bool) -> None:
        """Send typed letters to the field if `typing` is True, otherwise treat them as keys."""
        if typing != self.top.typing:
            self.top.typing = typing
            self.show_keys()
            self.top.show()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if not self.top.typing:
            self.start_typing()
        self.top.field.insert(event.text)
        self.show_typed()

    def show_typed(self) -> None:
        """Show the text in the field and the results of the search."""
        self.top.show()
