"""The timeline of a replay: state, activity, marks, playhead and times.

Invariant: the pane has seven rows, or four on a low terminal, or one on a small terminal.
"""

from typing import NamedTuple

from textual import events
from textual.message import Message
from textual.strip import Strip

from tui_agent.folds.trace.timeline import Timeline
from tui_agent.tui.panes.timeline_marks import MARKS, ROLES, mark_symbol, most_important
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import Part, blank_strip, cells, cut_parts, part, row
from tui_agent.units import format_clock

SMALL, LOW, FULL = 1, 4, 7
"""The possible heights of the pane, in rows."""


class Head(NamedTuple):
    """The content of the state row above the timeline.

    - `place`: index of the shown event on the timeline
    - `seq`, `last_seq`: numbers of the shown event and of the last one
    - `part`: number of the newest part at the shown event
    - `clock`: time of day of the shown event
    - `kind`: kind of the shown event, e.g. `tool.started`
    - `find`: the search field while the user types a search, as drawn parts
    - `notice`: a message below the state row, or at its end if the pane has few rows
    """

    place: int = 0
    seq: int = 0
    last_seq: int = 0
    part: int = 0
    clock: str = ""
    kind: str = ""
    playing: bool = False
    speed: float = 1.0
    live: bool = False
    notice: str = ""
    notice_role: Role = "t2"
    find: tuple[Part, ...] = ()


def rows_for(width: int, height: int) -> int:
    """Return the height of the timeline pane in rows, for a terminal of this size."""
    return SMALL if width < 70 or height < 22 else LOW if height < 30 else FULL


class LinePlace(Message):
    """Posted when the user clicked a place on the timeline."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place


class TimelinePane(LinePane):
    """Pane with the timeline of a replay and its playhead."""

    surface = "s1"
    line: Timeline | None = None
    head: Head = Head()
    _is_dragging = False
    _span: tuple[int, int] = (2, 1)
    """The first column of the timeline, and its width in cells."""
    _activity: tuple[int, list[int]] = (0, [])
    """The width in cells for which the activity was computed, and the height of each bar."""

    def set_line(self, line: Timeline) -> None:
        """Show another timeline."""
        self.line, self._activity = line, (0, [])
        self.show()

    def set_head(self, head: Head) -> None:
        """Show this state, position and notice above the timeline."""
        self.head = head
        self.show()

    # -- drawing ---------------------------------------------------------------------------------------------------

    def draw(self, width: int, height: int) -> list[Strip]:
        line = self.line
        if line is None or not len(line):
            return [row(width, [("  ", self.style()), *self._notice()], fill=self.style())]
        if height == SMALL:
            return [self._small_view(line, width)]
        room = width - 4
        self._span = 2, room
        state = self._state(line, width)
        drawn = [self._bars(line, room), self._marks(line, room), self._line_parts(line, room)]
        if height < FULL:
            return [state, *(self._pad_row(parts, room) for parts in drawn)]
        under = row(width, [("  ", self.style()), *self._notice()], fill=self.style())
        drawn.append(self._times(line, room))
        return [
            state,
            under,
            *(self._pad_row(parts, room) for parts in drawn),
            blank_strip(width, self.style()),
        ]

    def _state(self, line: Timeline, width: int) -> Strip:
        head, plain, quiet = self.head, self.style(), self.style("t2")
        left: list[Part] = [("  ", plain), *self._speed(), ("   event ", plain)]
        left += [(str(head.seq), self.style(bold=True)), (f" of {head.last_seq}", quiet)]
        if self.size.height == FULL or not (head.notice or head.find):
            if width >= 70:
                left.append((f"   part {head.part}", quiet))
            clock, length = format_clock(line.clock[head.place]), format_clock(line.length)
            left += [(f"   {clock}", plain), (f" of {length}", quiet)]
            if width >= 100:
                left.append((f"   {head.clock}", quiet))
                kind = part(f"   {head.kind}", self.style("t3"))
                if cells([*left, kind, *self._right(width - cells(left) - 4)]) + 7 <= width:
                    left.append(kind)
        return row(width, left, self._right(width - cells(left) - 4), fill=plain)

    def _speed(self) -> list[Part]:
        symbols, head = self.looks.symbols, self.head
        if head.live and not head.playing:
            return [(f"{symbols.running} ", self.style("accent")), ("following", self.style("t2"))]
        speed = f"{head.speed:g}x"
        if head.playing:
            return [(f"{symbols.folded} ", self.style("accent")), (speed, self.style("accent", bold=True))]
        return [(f"{symbols.stopped} ", self.style("t3")), (f"{speed} paused", self.style("t2"))]

    def _notice(self) -> list[Part]:
        return [part(self.head.notice, self.style(self.head.notice_role))] if self.head.notice else []

    def _right(self, room: int) -> list[Part]:
        if self.head.find:
            return list(self.head.find)
        symbols = self.looks.symbols
        if self.head.notice and self.size.height < FULL:
            return cut_parts(self._notice(), room, symbols.ellipsis)
        legend: list[Part] = []
        for mark, word, role in MARKS:
            gap = "   " if legend else ""
            legend += [(gap + mark_symbol(mark, symbols), self.style(role)), (f" {word}", self.style("t2"))]
        return legend if cells(legend) <= room else []

    def _bars(self, line: Timeline, room: int) -> list[Part]:
        levels = self.looks.symbols.activity
        # Counting the events of a long log takes time, so do it once for each width.
        if self._activity[0] != room:
            self._activity = room, line.activity(room, len(levels) - 1)
        bars = "".join(levels[level] for level in self._activity[1])
        played = self._column(line, room) + 1
        return [(bars[:played], self.style("t2")), (bars[played:], self.style("border-strong"))]

    def _marks(self, line: Timeline, room: int) -> list[Part]:
        marks = most_important(
            (line.column(line.clock[marker.place], room), marker.mark) for marker in line.markers
        )
        parts: list[Part] = []
        end = 0
        for column, mark in sorted(marks.items()):
            symbol = mark_symbol(mark, self.looks.symbols)
            parts += [(" " * (column - end), self.style()), (symbol, self.style(ROLES[mark]))]
            end = column + 1
        return parts

    def _line_parts(self, line: Timeline, room: int) -> list[Part]:
        symbols, column = self.looks.symbols, self._column(line, room)
        played, rest = symbols.meter_full * column, symbols.meter_rest * (room - column - 1)
        return [(played + symbols.running, self.style("accent")), (rest, self.style("border-strong"))]

    def _times(self, line: Timeline, room: int) -> list[Part]:
        stretches = 6 if room >= 90 else 3
        text = [" "] * room
        for number in range(stretches + 1):
            label = format_clock(line.length * number / stretches)
            start = min(room - len(label), round((room - 1) * number / stretches))
            text[start : start + len(label)] = label
        return [("".join(text), self.style("t3"))]

    def _small_view(self, line: Timeline, width: int) -> Strip:
        head, t2 = self.head, self.style("t2")
        symbol, style = self._speed()[0]
        left: list[Part] = [("  ", self.style()), (symbol, style)]
        left += [(f"{head.seq}", self.style(bold=True)), (f"/{head.last_seq} ", t2)]
        after: list[Part] = [(f" {format_clock(line.clock[head.place])}", t2), ("  ", self.style())]
        if head.find or head.notice:
            return row(width, left, self._right(width - cells(left) - 4), fill=self.style())
        room = max(4, width - cells(left) - cells(after))
        self._span = cells(left), room
        return row(width, [*left, *self._line_parts(line, room), *after], fill=self.style(), margin=0)

    def _pad_row(self, parts: list[Part], room: int) -> Strip:
        return row(room + 4, [("  ", self.style()), *parts], fill=self.style())

    def _column(self, line: Timeline, room: int) -> int:
        return line.column(line.clock[min(self.head.place, len(line) - 1)], room)

    # -- the mouse -------------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        event.stop()
        self._is_dragging = True
        self.capture_mouse()
        self._seek(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._is_dragging:
            self._seek(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._is_dragging = False
        self.release_mouse()

    def _seek(self, x: int) -> None:
        if self.line is None or not len(self.line):
            return
        start, room = self._span
        column = 1 / max(1, room - 1)
        # Use the end of the column's time span, so that a click on the last column selects the last event.
        share = min(1.0, max(0.0, (x - start + 0.5) * column))
        self.post_message(LinePlace(self.line.place_at(self.line.length * share)))
