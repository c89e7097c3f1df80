"""The list of sessions as it is drawn: its header and search field, its columns at every width, its rows.

Invariant: a row is drawn when it is seen; groups and gaps are never chosen.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.style import Style
from textual.strip import Strip

from tui_agent.tui.panes.header import Header
from tui_agent.tui.screens.page import HEADS_FROM, PageHead
from tui_agent.tui.screens.sessions.rows import Line, Row, Sort, state_of
from tui_agent.tui.text import fit, pad
from tui_agent.tui.text import width as width_of
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.listing import Listing
from tui_agent.tui.widgets.rows import Part, blank, cells, cut, doing, row
from tui_agent.units import format_age, format_bytes, format_cost


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells of the columns behind the name; 0 for one that there is no room for."""

    name: int
    folder: int
    turns: int
    size: int
    cost: int
    age: int

    @classmethod
    def of(cls, width: int, sort: Sort, *, folders: bool) -> "Columns":
        """What fits in a list of this width. `folders`: of more than one workspace."""
        age = 8
        cost = 9 if width >= 44 else 0
        size = 9 if sort == "size" or width >= 110 else 0
        turns = 6 if width >= 56 and (sort != "size" or width >= 76) else 0
        folder = (11 if width < 84 else 18) if folders and width >= 62 else 0
        name = width - 4 - folder - turns - size - cost - age - 2
        return cls(name, folder, turns, size, cost, age)


def marked(text: str, words: Sequence[str], style: Style, found: Style) -> list[Part]:
    """A cleaned line with every place where one of the words stands in the style of what was found."""
    if not words:
        return [(text, style)]
    look = re.compile(
        "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE
    )
    parts: list[Part] = []
    at = 0
    for match in look.finditer(text):
        if match.end() > match.start():
            parts += [(text[at : match.start()], style), (match[0], found)]
            at = match.end()
    return [one for one in (*parts, (text[at:], style)) if one[0]]


class SessionListing(Listing):
    """Lines of which only the sessions can be chosen."""

    def __init__(self, looks: Callable[[], Looks], draw: Callable[[int, int, bool], Strip]) -> None:
        super().__init__(looks, draw)
        self.lines: Sequence[Line] = ()

    def set_lines(self, lines: Sequence[Line], chosen: str) -> None:
        """Other lines; the chosen session stays chosen, else the nearest one to where it stood is."""
        self.lines = lines
        found = next(
            (at for at, line in enumerate(lines) if line.row is not None and line.row.id == chosen), None
        )
        self.set_count(len(lines), self._session_near(0, 1) if found is None else found)

    @property
    def chosen(self) -> Row | None:
        """The session under the cursor."""
        return self.lines[self.at].row if self.at < len(self.lines) else None

    def choose(self, at: int) -> None:
        at = max(0, min(len(self.lines) - 1, at))
        super().choose(self._session_near(at, -1 if at < self.at else 1))
        if self.lines and self.at == self._session_near(0, 1):
            self.scroll_to(y=0, animate=False, force=True)  # with the name of its group

    def _session_near(self, at: int, by: int) -> int:
        """The first line with a session from here on in a direction, else in the other one."""
        for way in (by, -by):
            place = at
            while 0 <= place < len(self.lines):
                if self.lines[place].row is not None:
                    return place
                place += way
        return 0


class RowPainter:
    """Draws lines of the list."""

    def __init__(self, looks: Callable[[], Looks]) -> None:
        self._looks = looks
        self.words: Sequence[str] = ()
        self.sort: Sort = "used"
        self.folders = True
        self.now = 0.0
        self.here = ""
        """The session that is open."""

    def style(
        self, role: Role = "t1", ground: Role = "s0", *, bold: bool = False, underline: bool = False
    ) -> Style:
        """A style on the list."""
        return self._looks().palette.rich(role, ground, bold=bold, underline=underline)

    def columns(self, width: int) -> Columns:
        """The columns at a width."""
        return Columns.of(width, self.sort, folders=self.folders)

    def heads(self, width: int) -> Strip:
        """The columns' names; a press on one sorts by it."""
        wide = self.columns(width)

        def name(text: str, sort: Sort | None, room: int, *, left: bool = False) -> Part:
            chosen = sort is not None and sort == self.sort
            style = self.style("t2" if chosen else "t3", bold=chosen)
            text = text.ljust(room) if left else text.rjust(room)
            return (text, doing(style, f"sort {sort}") if sort else style) if room else ("", style)

        parts = [
            ("    ", self.style()),
            name("name", "name", wide.name, left=True),
            name("folder", None, wide.folder, left=True),
            name("turns", None, wide.turns),
            name("size", "size", wide.size),
            name("cost", "cost", wide.cost),
            name("age", "used", wide.age),
        ]
        return row(width, parts, fill=self.style())

    def line(self, line: Line, width: int, *, chosen: bool) -> Strip:
        """One line."""
        if line.row is None:
            if not line.group:
                return blank(width, self.style())
            return row(
                width, [("    ", self.style()), (line.group, self.style("t2", bold=True))], fill=self.style()
            )
        return self._session(line.row, line.depth, width, "selection" if chosen else "s0")

    def _session(self, one: Row, depth: int, width: int, ground: Role) -> Strip:
        symbols, wide, chosen = self._looks().symbols, self.columns(width), ground == "selection"
        mark, role, _ = state_of(one, symbols)
        quiet, measure = self.style("t2", ground), self.style("t1" if chosen else "t2", ground)
        fill = self.style("t1", ground)
        parts: list[Part] = [
            (symbols.chosen if chosen else " ", self.style("accent", ground)),
            (" ", fill),
            (mark, self.style(role, ground)),
            (" ", fill),
            *self._name(one, depth, wide.name - 1, ground),
            (" ", fill),
            (
                pad(fit(one.folder, wide.folder - 1, symbols.ellipsis), wide.folder) if wide.folder else "",
                quiet,
            ),
            (("" if one.turns is None else str(one.turns)).rjust(wide.turns), measure),
            (format_bytes(one.size).rjust(wide.size) if wide.size else "", measure),
            (format_cost(one.cost).rjust(wide.cost) if wide.cost else "", measure),
            (format_age(max(0.0, self.now - one.updated)).rjust(wide.age), measure),
        ]
        return row(width, parts, fill=fill)

    def _name(self, one: Row, depth: int, room: int, ground: Role) -> list[Part]:
        symbols, chosen = self._looks().symbols, ground == "selection"
        fill = self.style("t1", ground)
        branch = "└ " if symbols.name == "unicode" else "` "
        ahead = "  " * (depth - 1) + branch if depth else ""
        after = f", fork at {one.forked_at}" if one.forked_at is not None else ""
        held = ", open here" if one.id == self.here else ", open elsewhere" if one.open else ""
        if width_of(ahead + one.name + after + held) <= room:
            after += held
        base = self.style("t1" if one.title else "t3", ground, bold=chosen)
        found = self.style("accent", ground, bold=True, underline=True)
        name = fit(one.name, max(8, room - len(ahead) - len(after)), symbols.ellipsis)
        parts = [(ahead, self.style("t3", ground)), *marked(name, self.words, base, found)]
        parts.append((after, self.style("t2", ground)))
        shown = cut([part for part in parts if part[0]], room, symbols.ellipsis)
        return [*shown, (" " * (room - cells(shown)), fill)]


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
