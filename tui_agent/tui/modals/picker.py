"""Choose one of a list: type to filter, arrows or a click to choose, Enter to use.

Invariant: the list is only data; what is chosen comes back as its value. Esc gives nothing and undoes a preview.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.strip import Strip

from tui_agent.tui.actions import Scope
from tui_agent.tui.prompt.completion import match
from tui_agent.tui.text import clean_line, width
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import Part, cut, part
from tui_agent.tui.widgets.sheet import Sheet


@dataclass(frozen=True, slots=True)
class Item:
    """One row. An item that is not `offered` stays in sight; `about` then says why."""

    value: str
    label: str
    about: str = ""
    right: str = ""
    group: str = ""
    offered: bool = True
    now: bool = False
    """It is the one in use."""


KEYS = "list_open", "list_choose", "list_close"
"""Actions below the list."""


class Picker(Sheet[str | None]):
    """Gives the chosen item's value. `preview` is called with each item that the cursor reaches."""

    scope: ClassVar[Scope] = "list"
    key_methods = {
        "list_choose": "move",
        "page_scroll": "move_page",
        "list_open": "use",
        "list_close": "clear_or_close",
    }

    def __init__(
        self,
        looks: Callable[[], Looks],
        title: str,
        items: Sequence[Item],
        *,
        empty: str = "",
        preview: Callable[[str], None] | None = None,
        free: str = "",
    ) -> None:
        super().__init__(looks)
        self._drawn: dict[tuple[int, str, int, int, bool], Strip] = {}
        """Rows as they were drawn: of a long list a key changes two."""
        self._drawn_with: Looks | None = None
        self._fit: tuple[str, list[Item]] | None = None
        """What fits what is typed."""
        self.named = title
        self.items = list(items)
        self.field = Field()
        self.empty = empty
        self.free = free
        """What a typed text means that is no row's label; empty: nothing."""
        self._preview = preview
        self.chosen = next((at for at, item in enumerate(self.items) if item.now), 0)

    def set_items(self, items: Sequence[Item]) -> None:
        """Late rows."""
        held = self.current
        self.items, self._fit = list(items), None
        self._drawn.clear()
        self.chosen = next((at for at, one in enumerate(self.shown) if held and one.value == held.value), 0)
        self.redraw()

    @property
    def shown(self) -> list[Item]:
        """The items that fit what is typed."""
        query = self.field.text.strip()
        if not query:
            return self.items
        if self._fit is None or self._fit[0] != query:
            self._fit = query, self._fitting(query)
            self._drawn.clear()
        return self._fit[1]

    def _fitting(self, query: str) -> list[Item]:
        texts = [f"{item.label} {item.about} {item.right} {item.group}" for item in self.items]
        # In long rows any letters stand in some order: that counts only where no row has them together.
        together = [at for at, text in enumerate(texts) if query.casefold() in text.casefold()]
        scored = [
            (found[0], at, self.items[at])
            for at in together or range(len(texts))
            if (found := match(query, texts[at])) is not None
        ]
        scored.sort(key=lambda one: (one[0], one[1]))
        fitting = [item for _, _, item in scored]
        if not self.free or any(item.label == query for item in fitting):
            return fitting
        typed = Item(query, query, about=self.free)
        # A whole name that is typed is meant as it stands; a few letters look for a row.
        return [typed, *fitting] if "/" in query or ":" in query else [*fitting, typed]

    @property
    def current(self) -> Item | None:
        """The chosen one."""
        shown = self.shown
        return shown[self.chosen] if self.chosen < len(shown) else None

    def head(self, width: int) -> list[Strip]:
        shown = len(self.shown)
        count = f"{shown} of {len(self.items)}" if self.field.text else str(len(self.items) or "")
        fill, hint = self.style(ground="s2"), self.style("t3", "s2")
        left: list[Part] = [
            (self.looks.symbols.bar, self.style("accent", "s2")),
            (" ", fill),
            *self.field.parts(width - 4, fill, self.style("s2", "t1"), "type to filter", hint),
        ]
        title = self.title_rows(width, self.named, [part(count, self.style("t2"))])
        return [*title, self.line(width, left, ground="s2"), *self.spacer(width)]

    def body(self, width: int) -> list[Strip]:
        shown = self.shown
        if not shown:
            said = self.empty if not self.field.text else self._nothing()
            return self.text_rows(width, clean_line(said), "t3")
        labels = min(max(len(clean_line(item.label)) for item in shown) + 3, max(12, width // 2))
        if self._drawn_with is not self.looks:
            self._drawn_with = self.looks
            self._drawn.clear()
        rows: list[Strip] = []
        self.cursor_row = None
        group = ""
        for at, item in enumerate(shown):
            if item.group and item.group != group and not self.field.text:
                if rows:
                    rows.append(self.line(width, []))
                rows.append(self.line(width, [part(item.group, self.style("t2", bold=True))]))
                group = item.group
            if at == self.chosen:
                self.cursor_row = len(rows)
            key = (at, self.field.text.strip(), width, labels, at == self.chosen)
            if key not in self._drawn:
                self._drawn[key] = self._item(width, at, item, labels)
            rows.append(self._drawn[key])
        return rows

    def on_resize(self) -> None:
        self._drawn.clear()

    def _nothing(self) -> str:
        return f'Nothing matches "{self.field.text}". {self.key_map.key_of("list_close")} clears.'

    def _item(self, cells: int, at: int, item: Item, labels: int) -> Strip:
        row = self.choice_row(at == self.chosen, f"item {at}")
        symbols = self.looks.symbols
        name = row.style("t1" if item.offered else "t3", bold=row.chosen)
        label = cut([part(item.label, name)], labels - 1, symbols.ellipsis)
        left: list[Part] = [
            row.mark,
            (f"{symbols.done if item.now else ' '} ", row.style("success")),
            *label,
            (" " * max(1, labels - width(label[0][0] if label else "")), row.style()),
            part(item.about, row.style("t2" if item.offered else "t3")),
        ]
        return row.line(cells, left, [part(item.right, row.style("t2"))] if item.right else [])

    def foot(self, width: int) -> list[Strip]:
        return [*self.spacer(width), self.keys_row(width, *KEYS)]

    def key_scopes(self) -> Sequence[Scope]:
        """Return the list's own scope, and that of everything that scrolls by pages."""
        return self.scope, "rows"

    def type_key(self, key: str, character: str | None) -> bool:
        if not self.field.key(key, character):
            return False
        self.chosen = 0
        self.redraw(keep=False)
        return True

    def clear_or_close(self) -> None:
        """Clear what is typed, else close without a choice."""
        if not self.field.text:
            self.close()
            return
        self.field = Field()
        self.chosen = 0
        self.redraw()

    def move_page(self, direction: int) -> None:
        """Choose a row that is a page away, or the one at the end."""
        self.move(8 * direction, around=False)

    def move(self, by: int, *, around: bool = True) -> None:
        """Choose another row."""
        count = len(self.shown)
        if not count:
            return
        at = self.chosen + by
        self.chosen = at % count if around else max(0, min(count - 1, at))
        self.redraw()
        if self._preview is not None and self.current is not None:
            self._preview(self.current.value)

    def use(self) -> None:
        """Give the chosen item back."""
        current = self.current
        if current is not None and current.offered:
            self.dismiss(current.value)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.field.insert(event.text)
        self.redraw()

    def clicked(self, wish: str) -> None:
        number = wish.removeprefix("item ")
        if number.isdigit() and int(number) < len(self.shown):
            self.chosen = int(number)
            self.use()
