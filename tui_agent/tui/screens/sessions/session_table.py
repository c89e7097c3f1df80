"""The table of sessions: the columns at each width, the rows, and the totals in the header.

Invariant: a row is drawn only when it becomes visible.
"""

import re
from collections.abc import Sequence

from rich.style import Style
from textual.strip import Strip

from tui_agent.fast_dataclass import dataclass
from tui_agent.tui.panes.header import Header
from tui_agent.tui.screens.sessions.session_rows import ListLine, SessionRow, Sort, state_of
from tui_agent.tui.theme.theme import Looks
from tui_agent.tui.untrusted_text import fit, pad
from tui_agent.tui.untrusted_text import width as width_of
from tui_agent.tui.widgets.rows import Part, Pen, cells, cut_parts, row, with_intent
from tui_agent.units import format_age, format_bytes, format_cost


@dataclass(frozen=True, slots=True)
class SessionColumns:
    """Widths of the columns of the session list, in terminal cells. A column without room has the width 0."""

    name: int
    folder: int
    turns: int
    size: int
    cost: int
    age: int

    @classmethod
    def for_width(cls, width: int, sort: Sort, *, folders: bool) -> "SessionColumns":
        """Return the widths for a list of this width.

        `folders`: True if the sessions have several workspaces.
        """
        age = 8
        cost = 9 if width >= 44 else 0
        size = 9 if sort == "size" or width >= 110 else 0
        turns = 6 if width >= 56 and (sort != "size" or width >= 76) else 0
        folder = (11 if width < 84 else 18) if folders and width >= 62 else 0
        return cls(width - 4 - folder - turns - size - cost - age - 2, folder, turns, size, cost, age)


def highlight(text: str, words: Sequence[str], style: Style, highlighted: Style) -> list[Part]:
    """Return `text` as styled parts: occurrences of `words` in the style `highlighted`, other text in `style`."""
    if not words:
        return [(text, style)]
    # The longest word first, because the first alternative that matches wins.
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pieces = re.split(f"({pattern})", text, flags=re.IGNORECASE)
    return [(piece, highlighted if number % 2 else style) for number, piece in enumerate(pieces) if piece]


def branch_mark(looks: Looks) -> str:
    """Return the mark in front of the name of a fork."""
    return "└ " if looks.symbols.name == "unicode" else "` "


class SessionTable:
    """Draws the column names and the lines of the list of sessions."""

    def __init__(self) -> None:
        self.words: Sequence[str] = ()
        """The words of the search, which are highlighted."""
        self.sort: Sort = "used"
        self.folders = True
        self.now = 0.0
        self.open_session = ""

    def draw_heads(self, width: int, line: Pen) -> Strip:
        """Return the row of column names; a click on a name sorts by that column."""
        columns = self._columns(width)

        def head(text: str, sort: Sort | None = None) -> Part:
            chosen = sort is not None and sort == self.sort
            style = line.style("t2" if chosen else "t3", bold=chosen)
            return text, with_intent(style, f"sort {sort}") if sort else style

        parts = [
            ("    ", line.style()),
            head("name".ljust(columns.name), "name"),
            head("folder".ljust(columns.folder) if columns.folder else ""),
            head("turns".rjust(columns.turns) if columns.turns else ""),
            head("log size".rjust(columns.size) if columns.size else "", "size"),
            head("cost".rjust(columns.cost) if columns.cost else "", "cost"),
            head("age".rjust(columns.age), "used"),
        ]
        return row(width, parts, fill=line.style())

    def _columns(self, width: int) -> SessionColumns:
        return SessionColumns.for_width(width, self.sort, folders=self.folders)

    def draw_line(self, line: ListLine, width: int, pen: Pen) -> Strip:
        """Draw one line of the list of sessions."""
        if line.row is None:
            return pen.line(width, [("    ", pen.style()), (line.group, pen.style("t2", bold=True))])
        session, columns, ellipsis = line.row, self._columns(width), pen.looks.symbols.ellipsis
        symbol, role, _ = state_of(session, pen.looks.symbols)
        quiet, measure = pen.style("t2"), pen.style("t1" if pen.chosen else "t2")
        folder = pad(fit(session.folder, columns.folder - 1, ellipsis), columns.folder)
        age = format_age(max(0.0, self.now - session.updated)) if session.updated else "-"  # no readable time
        cost = format_cost(session.cost_usd, session.cost_precision, short=True)
        parts: list[Part] = [
            *pen.first(symbol, role),
            *self._name_parts(session, line.depth, columns.name - 1, pen),
            (" ", pen.style()),
            (folder if columns.folder else "", quiet),
            (("" if session.turns is None else str(session.turns)).rjust(columns.turns), measure),
            (format_bytes(session.size_bytes).rjust(columns.size) if columns.size else "", measure),
            (cost.rjust(columns.cost) if columns.cost else "", measure),
            (age.rjust(columns.age), measure),
        ]
        return row(width, parts, fill=pen.style())

    def _name_parts(self, session: SessionRow, depth: int, room: int, line: Pen) -> list[Part]:
        ellipsis = line.looks.symbols.ellipsis
        indent = "  " * (depth - 1) + branch_mark(line.looks) if depth else ""
        note = session.fork_note
        is_here = session.id == self.open_session
        place = ", open here" if is_here else ", open elsewhere" if session.open else ""
        if width_of(indent + session.name + note + place) <= room:
            note += place
        name = fit(session.name, max(8, room - len(indent) - len(note)), ellipsis)
        plain = line.style("t1" if session.title else "t3", bold=line.chosen)
        highlighted = line.style("accent", bold=True, underline=True)
        parts = [
            (indent, line.style("t3")),
            *highlight(name, self.words, plain, highlighted),
            (note, line.style("t2")),
        ]
        shown = cut_parts([part for part in parts if part[0]], room, ellipsis)
        return [*shown, (" " * (room - cells(shown)), line.style())]


class SessionsHeader(Header):
    """The header with the totals of all sessions."""

    sums: Sequence[str] = ()

    def set_sums(self, sums: Sequence[str]) -> None:
        """Show these totals in the header."""
        self.sums = tuple(sums)
        self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        left: list[Part] = [
            ("  ", self.style()),
            (self.looks.symbols.bar, self.style("accent")),
            (" ", self.style()),
            ("tui-agent", self.style(bold=True)),
        ]
        right = [("   ".join(self.sums), self.style("t2"))]
        fits = cells(left) + cells(right) + 4 <= width
        return [row(width, left, right if fits else (), fill=self.style())]
