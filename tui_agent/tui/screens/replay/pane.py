"""The line of a replay: state, activity, what stands out, the head, and times; a press or a drag moves the head.

Invariant: one row where the terminal is small, four where it is low, else seven; drawn from plain data.
"""

from typing import Final, NamedTuple

from textual import events
from textual.message import Message
from textual.strip import Strip

from tui_agent.folds.trace.timeline import Timeline
from tui_agent.tui.panes.marks import MARKS, ROLES, loudest, mark_symbol
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import Part, blank, cells, cut, part, row

SMALL, LOW = 1, 4
FULL: Final = 7


class Head(NamedTuple):
    """What the state row says. `said` stands below it, or at its end where the line is low; `asked` is what is looked
    for, while it is typed."""

    place: int = 0
    seq: int = 0
    last_seq: int = 0
    part: int = 0
    clock: str = ""
    kind: str = ""
    playing: bool = False
    speed: float = 1.0
    said: str = ""
    said_role: Role = "accent"
    asked: tuple[Part, ...] = ()


def rows_for(width: int, height: int) -> int:
    """How many rows the line takes at a size of the terminal."""
    return SMALL if width < 70 or height < 22 else LOW if height < 30 else FULL


def minutes(seconds: float) -> str:
    """`1:27`, `1:02:05`."""
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


class LinePlace(Message):
    """The mouse asks for a place."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place


class TimelinePane(LinePane):
    """The timeline and its head."""

    surface = "s1"
    line: Timeline | None = None
    head: Head = Head()
    _held = False
    _span: tuple[int, int] = (2, 1)
    """The line's first column, and how many it has."""
    _activity: tuple[int, list[int]] = (0, [])

    def set_line(self, line: Timeline) -> None:
        """Another session."""
        self.line, self._activity = line, (0, [])
        self.show()

    def set_head(self, head: Head) -> None:
        """The head stands elsewhere, or says something else."""
        self.head = head
        self.show()

    # -- drawing ---------------------------------------------------------------------------------------------------

    def draw(self, width: int, height: int) -> list[Strip]:
        line = self.line
        if line is None or not len(line):
            return [row(width, [("  ", self.style()), *self._said()], fill=self.style())]
        if height == SMALL:
            return [self._small(line, width)]
        room = width - 4
        self._span = 2, room
        drawn = [self._state(line, width), self._bars(line, room), self._marks(line, room)]
        drawn.append(self._bar(line, room))
        if height < FULL:
            return drawn
        empty = blank(width, self.style())
        under = row(width, [("  ", self.style()), *self._said()], fill=self.style())
        return [drawn[0], under, *drawn[1:], self._times(line, room), empty]

    def _state(self, line: Timeline, width: int) -> Strip:
        head, t2, t1 = self.head, self.style("t2"), self.style(bold=True)
        left: list[Part] = [("  ", self.style()), *self._speed(), ("   ", self.style())]
        left += [("event ", self.style()), (str(head.seq), t1), (f" of {head.last_seq}", t2)]
        low = self.size.height < FULL
        if low and (head.said or head.asked):
            return row(width, left, self._right(width - cells(left) - 4), fill=self.style())
        if width >= 70:
            left += [("   ", t2), (f"part {head.part}", t2)]
        left += [
            ("   ", t2),
            (minutes(line.clock[head.place]), self.style()),
            (f" of {minutes(line.length)}", t2),
        ]
        if width >= 100:
            left.append(("   " + head.clock, t2))
        right = self._right(width - cells(left) - 4)
        kind = part(f"   {head.kind}", self.style("t3"))
        if width >= 100 and cells([*left, kind, *right]) + 7 <= width:
            left.append(kind)
        return row(width, left, right, fill=self.style())

    def _speed(self) -> list[Part]:
        symbols, head = self.looks.symbols, self.head
        speed = f"{head.speed:g}x"
        if head.playing:
            return [(f"{symbols.folded} ", self.style("accent")), (speed, self.style("accent", bold=True))]
        return [(f"{symbols.stopped} ", self.style("t3")), (f"{speed} paused", self.style("t2"))]

    def _said(self) -> list[Part]:
        return [part(self.head.said, self.style(self.head.said_role))] if self.head.said else []

    def _right(self, room: int) -> list[Part]:
        if self.head.asked:
            return list(self.head.asked)
        if self.head.said and self.size.height < FULL:
            return cut(self._said(), room, self.looks.symbols.ellipsis)
        legend: list[Part] = []
        symbols = self.looks.symbols
        for mark, word, role in MARKS:
            legend += [("   ", self.style())] if legend else []
            legend += [(mark_symbol(mark, symbols), self.style(role)), (f" {word}", self.style("t2"))]
        return legend if cells(legend) <= room else []

    def _bars(self, line: Timeline, room: int) -> Strip:
        levels = self.looks.symbols.activity
        if self._activity[0] != room:
            self._activity = room, line.activity(room, len(levels) - 1)
        bars = "".join(levels[level] for level in self._activity[1])
        played = self._column(line, room) + 1
        return self._padded(
            [(bars[:played], self.style("t2")), (bars[played:], self.style("border-strong"))], room
        )

    def _marks(self, line: Timeline, room: int) -> Strip:
        found = loudest((line.column(line.clock[one.place], room), one.mark) for one in line.markers)
        symbols = self.looks.symbols
        pieces: list[Part] = []
        at = 0
        for column, mark in sorted(found.items()):
            pieces += [
                (" " * (column - at), self.style()),
                (mark_symbol(mark, symbols), self.style(ROLES[mark])),
            ]
            at = column + 1
        return self._padded(pieces, room)

    def _bar(self, line: Timeline, room: int) -> Strip:
        return self._padded(self._line_parts(line, room), room)

    def _line_parts(self, line: Timeline, room: int) -> list[Part]:
        symbols, at = self.looks.symbols, self._column(line, room)
        lit, rest = self.style("accent"), self.style("border-strong")
        return [
            (symbols.meter_full * at, lit),
            (symbols.running, lit),
            (symbols.meter_rest * (room - at - 1), rest),
        ]

    def _times(self, line: Timeline, room: int) -> Strip:
        stretches = 6 if room >= 90 else 3
        text = [" "] * room
        for number in range(stretches + 1):
            label = minutes(line.length * number / stretches)
            start = min(room - len(label), round((room - 1) * number / stretches))
            text[start : start + len(label)] = label
        return self._padded([("".join(text), self.style("t3"))], room)

    def _small(self, line: Timeline, width: int) -> Strip:
        head, t2 = self.head, self.style("t2")
        symbol, style = self._speed()[0]
        left: list[Part] = [("  ", self.style()), (symbol, style)]
        left += [(f"{head.seq}", self.style(bold=True)), (f"/{head.last_seq} ", t2)]
        after: list[Part] = [(f" {minutes(line.clock[head.place])}", t2), ("  ", self.style())]
        if head.asked or head.said:
            return row(width, left, self._right(width - cells(left) - 4), fill=self.style())
        room = max(4, width - cells(left) - cells(after))
        self._span = cells(left), room
        return row(width, [*left, *self._line_parts(line, room), *after], fill=self.style(), margin=0)

    def _padded(self, parts: list[Part], room: int) -> Strip:
        edge: Part = ("  ", self.style())
        return row(room + 4, [edge, *parts], fill=self.style())

    def _column(self, line: Timeline, room: int) -> int:
        return line.column(line.clock[min(self.head.place, len(line) - 1)], room)

    # -- the mouse -------------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        event.stop()
        self._held = True
        self.capture_mouse()
        self._seek(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._held:
            self._seek(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._held = False
        self.release_mouse()

    def _seek(self, x: int) -> None:
        if self.line is None or not len(self.line):
            return
        start, room = self._span
        column = 1 / max(1, room - 1)
        # To the end of the column's stretch of time: a press on the last column is the last event.
        share = min(1.0, max(0.0, (x - start + 0.5) * column))
        self.post_message(LinePlace(self.line.place_at(self.line.length * share)))
