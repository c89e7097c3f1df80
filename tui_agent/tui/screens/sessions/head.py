"""Above the list of sessions: all of them in sums, what is looked for, and the columns' names."""

from collections.abc import Callable, Sequence

from textual.strip import Strip

from tui_agent.tui.panes.header import Header
from tui_agent.tui.screens.page import HEADS_FROM, PageHead
from tui_agent.tui.text import fit
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import Part, cells, row


class SessionsHeader(Header):
    """Sums of all sessions in place of the one that is open."""

    sums: Sequence[str] = ()

    def set_sums(self, sums: Sequence[str]) -> None:
        """Show these."""
        self.sums = tuple(sums)
        self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        symbols = self.looks.symbols
        left: list[Part] = [("  ", self.style()), (symbols.bar, self.style("accent")), (" ", self.style())]
        left.append(("tui-agent", self.style(bold=True)))
        right = [("   ".join(self.sums), self.style("t2"))]
        fits = cells(left) + cells(right) + 4 <= width
        return [row(width, left, right if fits else (), fill=self.style())]


class SessionsHead(PageHead):
    """Title and count, the field, the columns. `asked` is what the field is for, where not for searching; `hint` says what
    typing does."""

    hint = "searches names and all text"

    def __init__(self, looks: Callable[[], Looks]) -> None:
        super().__init__(looks)
        self.field = Field()
        self.typing = True
        self.said = ""
        self.asked = ""

    def draw(self, width: int, height: int) -> list[Strip]:
        title = row(width, [("    ", self.style()), *self.title], self.right, fill=self.style())
        field, columns = self._field(width), self.columns(width) if self.columns is not None else None
        if height < HEIGHT or columns is None:
            return [title, field, *([columns] if columns is not None else [])][:height]
        empty = row(width, [], fill=self.style())
        return [empty, title, empty, field, empty, columns]

    def _field(self, width: int) -> Strip:
        palette = self.looks.palette
        quiet, text = palette.rich("t3", "s2"), palette.rich("t1", "s2")
        bar = palette.rich("accent" if self.typing else "border-strong", "s0")
        asked: list[Part] = [(f"{self.asked} ", palette.rich("t2", "s2"))] if self.asked else []
        said = "" if self.asked and not self.said else self.said or self.hint
        room = max(8, width - 6 - cells(asked))
        right = said if self.field.text and len(said) + len(self.field.text) + 6 < room else ""
        hint = said or "a name"
        space = max(4, room - len(right) - 2)
        typed: list[Part] = [(fit(self.field.text, space, self.looks.symbols.ellipsis), text)]
        if self.typing or not self.field.text:
            cursor = palette.rich("s2", "t1") if self.typing else None
            typed = self.field.parts(space, text, cursor, hint, quiet)
        inner = row(width - 6, [*asked, *typed], [(right, quiet)] if right else (), fill=text, margin=1)
        left: list[Part] = [("  ", self.style()), (self.looks.symbols.bar, bar), (" ", text)]
        return Strip(
            [*row(4, left, fill=self.style(), margin=0), *inner, *row(2, [], fill=self.style())], width
        )


HEIGHT = 6
"""Rows that it takes where there is room: from `HEADS_FROM` rows of the terminal on; else three."""


def rows_for(height: int) -> int:
    """How many rows it takes in a terminal of this height."""
    return HEIGHT if height >= HEADS_FROM else 3 if height >= 12 else 2
