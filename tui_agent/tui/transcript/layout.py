"""L7: which rows the transcript has and where: slots for entries, guessed until they are drawn, folded, grouped.

Invariant: a slot's height is exact once it was drawn under the present look; only slots that are asked for are drawn;
drawn rows of slots that were not asked for lately are dropped. Slots keep their entry's index.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tui_agent.folds.entries import AnswerEntry, Entry, ToolEntry, UserEntry
from tui_agent.protocol.base import LongText
from tui_agent.tui.transcript.draw import Shown, draw, guess, is_open, new_stream, spacious, toggles
from tui_agent.tui.transcript.groups import QUIET_RUN, group_row
from tui_agent.tui.transcript.heights import Heights
from tui_agent.tui.transcript.look import Look
from tui_agent.tui.transcript.rows import Row
from tui_agent.tui.transcript.stream import MarkdownStream
from tui_agent.tui.transcript.tools import is_quiet

KEPT: Final = 256
"""Slots whose rows are kept drawn."""


@dataclass(slots=True)
class Slot:
    """One entry's place. `rows` is None while it is not drawn; `group` is the index of the row it is folded into."""

    id: str
    revision: int
    count: int = 0
    gap: int = 0
    spacious: bool = False
    exact: bool = False
    opened: bool | None = None
    past: bool = False
    active: bool = False
    group: int = -1
    rows: list[Row] | None = None
    stream: MarkdownStream | None = None


class Layout:
    """The rows of a transcript under one look."""

    def __init__(self, look: Look, read: Callable[[LongText], str], now: Callable[[], float]) -> None:
        self.look = look
        self.slots: list[Slot] = []
        self.heights = Heights()
        self._entries: Sequence[Entry] = ()
        self._ids: dict[str, int] = {}
        self._read = read
        self._now = now
        self._turn = 0
        self._turn_start = 0
        self._drawn: dict[int, None] = {}
        self._groups_open: set[str] = set()
        self._held: set[int] = set()

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def total(self) -> int:
        """Rows of everything, guessed ones included."""
        return self.heights.total

    def entry(self, index: int) -> Entry:
        """The entry of a slot."""
        return self._entries[index]

    def index_of(self, entry_id: str) -> int | None:
        """Where an entry stands."""
        return self._ids.get(entry_id)

    def shown(self, index: int) -> Shown:
        """What the drawing of a slot depends on."""
        slot = self.slots[index]
        return Shown(slot.opened, slot.past, slot.active, self._now())

    def set_entries(self, entries: Sequence[Entry], changed: Iterable[int], held: Iterable[int] = ()) -> None:
        """Take a newer view in; `changed` are the indexes that differ (new ones may be left out).

        Slots in `held` are not folded when their turn is over; `fold_held` does that later.
        """
        self._held.update(held)
        known = len(self.slots)
        fresh = known == 0 or len(entries) < known or entries[known - 1].id != self.slots[-1].id
        self._entries = entries
        if fresh or entries[0].id != self.slots[0].id:
            self._rebuild()
            return
        for index in sorted({index for index in changed if index < known}):
            self._update(index)
        for index in range(known, len(entries)):
            self._append(index)

    def set_look(self, look: Look) -> None:
        """Draw under another width or theme from now on; heights stay exact where only colours change."""
        same_shape = look.width == self.look.width and look.symbols == self.look.symbols
        same_shape = same_shape and look.palette.mode == self.look.palette.mode
        self.look = look
        self._drawn.clear()
        for slot in self.slots:
            slot.rows = slot.stream = None
            slot.exact = slot.exact and same_shape
        if not same_shape:
            for index in range(len(self.slots)):
                self._guess(index)
            self.heights = Heights(slot.gap + slot.count for slot in self.slots)

    def draw_between(self, y: int, end: int) -> bool:
        """Draw every slot that touches these rows. True if a height changed (then ask again)."""
        if not self.slots:
            return False
        before = self.heights.total
        changed = False
        index = self.heights.at(max(y, 0))
        top = self.heights.top(index)
        while index < len(self.slots) and top < end:
            changed = self._draw(index) or changed
            top += self.heights[index]
            index += 1
        if len(self._drawn) > KEPT:
            self._forget(self.heights.at(max(y, 0)), index)
        return changed or self.heights.total != before

    def rows(self, index: int) -> list[Row]:
        """The rows of a slot, without its gap."""
        self._draw(index)
        return self.slots[index].rows or []

    def place(self, y: int) -> tuple[int, int]:
        """The slot that holds row `y` and the row in it (the gap is row -1)."""
        index = self.heights.at(y)
        return index, y - self.heights.top(index) - self.slots[index].gap

    def top(self, index: int) -> int:
        """The first row of a slot, behind its gap."""
        return self.heights.top(index) + self.slots[index].gap

    def toggle(self, index: int) -> bool:
        """Fold or open a slot (or the group that it is folded into). False if it cannot."""
        slot = self.slots[index]
        if slot.group >= 0:
            self.open_group(slot.group)
            return True
        entry = self._entries[index]
        if not toggles(entry):
            return False
        self.set_opened(index, not is_open(entry, self.shown(index)))
        return True

    def set_opened(self, index: int, opened: bool | None) -> None:
        """Fold (False), open (True), or leave to the rules (None)."""
        self.slots[index].opened = opened
        self._redraw(index)

    def set_active(self, index: int, active: bool) -> None:
        """Mark the slot that has focus or the mouse."""
        slot = self.slots[index]
        if slot.active != active:
            slot.active = active
            if isinstance(self._entries[index], UserEntry):
                self._redraw(index)

    def touch(self, *indexes: int) -> None:
        """Draw these slots anew: their time went on, or a text of theirs has arrived."""
        for index in indexes:
            self._redraw(index)

    def open_group(self, leader: int) -> None:
        """Show the rows of a group of reads and searches each on its own."""
        self._groups_open.add(self.slots[leader].id)
        index = leader
        while index < len(self.slots) and self.slots[index].group == leader:
            self.slots[index].group = -1
            self._redraw(index)
            index += 1

    def fold_held(self) -> None:
        """Nobody reads the held slots any more: fold those whose turn is over."""
        held = [index for index in self._held if index < self._turn_start]
        self._held.clear()
        if held:
            self._age(min(held), self._turn_start)

    def _rebuild(self) -> None:
        opened = {slot.id: slot.opened for slot in self.slots if slot.opened is not None}
        self.slots, self._ids, self._drawn = [], {}, {}
        self._held.clear()
        self.heights = Heights()
        self._turn = self._turn_start = 0
        for index in range(len(self._entries)):
            self._append(index)
        for entry_id, wanted in opened.items():
            if (found := self._ids.get(entry_id)) is not None:
                self.set_opened(found, wanted)

    def _append(self, index: int) -> None:
        entry = self._entries[index]
        self.slots.append(Slot(entry.id, entry.revision))
        self._ids[entry.id] = index
        self._guess(index)
        self.heights.append(self.slots[index].gap + self.slots[index].count)
        if isinstance(entry, UserEntry) and entry.state == "sent" and entry.turn > self._turn:
            self._age(self._turn_start, index)
            self._turn, self._turn_start = entry.turn, index

    def _update(self, index: int) -> None:
        entry, slot = self._entries[index], self.slots[index]
        slot.revision = entry.revision
        slot.rows = None
        slot.exact = False
        self._drawn.pop(index, None)
        self._resize(
            index,
            0 if slot.group >= 0 and slot.group != index else guess(entry, self.shown(index), self.look),
        )
        if isinstance(entry, UserEntry) and entry.state == "sent" and entry.turn > self._turn:
            self._age(self._turn_start, index)
            self._turn, self._turn_start = entry.turn, index

    def _age(self, start: int, end: int) -> None:
        """The turn of these slots is over: fold what went well, and runs of reads into one row."""
        run: list[int] = []
        for index in range(start, end + 1):
            entry = self._entries[index]
            quiet = index < end and isinstance(entry, ToolEntry) and is_quiet(entry)
            if quiet and self.slots[index].opened is None and index not in self._held:
                run.append(index)
            else:
                self._group(run)
                run = []
            slot = self.slots[index]
            if index < end and not slot.past and index not in self._held:
                slot.past = True
                if isinstance(entry, ToolEntry) and not quiet:
                    self._redraw(index)

    def _group(self, run: Sequence[int]) -> None:
        if len(run) <= QUIET_RUN or self.slots[run[0]].id in self._groups_open:
            return
        for index in run:
            self.slots[index].group = run[0]
        for index in run:
            self._redraw(index)

    def _redraw(self, index: int) -> None:
        slot = self.slots[index]
        slot.rows = None
        slot.exact = False
        self._drawn.pop(index, None)
        self._guess(index)
        self._resize(index, slot.count)

    def _guess(self, index: int) -> None:
        slot, entry = self.slots[index], self._entries[index]
        slot.count = (index == slot.group) if slot.group >= 0 else guess(entry, self.shown(index), self.look)
        slot.spacious = slot.group < 0 and spacious(entry, slot.count)
        slot.gap = self._gap(index)

    def _draw(self, index: int) -> bool:
        """Draw a slot if it is not; True if its height changed."""
        slot = self.slots[index]
        self._drawn.pop(index, None)
        self._drawn[index] = None
        if slot.rows is not None:
            return False
        if slot.group >= 0:
            rows = self._group_rows(slot.group) if slot.group == index else []
        else:
            rows = self._entry_rows(index)
        slot.rows = rows
        slot.exact = True
        return self._resize(index, len(rows))

    def _entry_rows(self, index: int) -> list[Row]:
        slot, entry = self.slots[index], self._entries[index]
        if isinstance(entry, AnswerEntry) and entry.streaming:
            slot.stream = slot.stream or new_stream(self.look)
        rows = draw(entry, self.shown(index), self.look, self._read, slot.stream)
        if not (isinstance(entry, AnswerEntry) and entry.streaming):
            slot.stream = None
        return rows

    def _group_rows(self, leader: int) -> list[Row]:
        members: list[ToolEntry] = []
        index = leader
        while index < len(self.slots) and self.slots[index].group == leader:
            entry = self._entries[index]
            if isinstance(entry, ToolEntry):
                members.append(entry)
            index += 1
        return [group_row(members, self.look)]

    def _resize(self, index: int, count: int) -> bool:
        """Set a slot's number of rows, and the gaps that follow from it."""
        slot = self.slots[index]
        was = (slot.spacious, slot.count > 0)
        slot.count = count
        slot.spacious = slot.group < 0 and spacious(self._entries[index], count)
        slot.gap = self._gap(index)
        changed = self.heights.set(index, slot.gap + count) != 0
        if was != (slot.spacious, count > 0) or changed:
            follow = index + 1
            while follow < len(self.slots):
                after = self.slots[follow]
                after.gap = self._gap(follow)
                changed = self.heights.set(follow, after.gap + after.count) != 0 or changed
                if after.count:
                    break
                follow += 1
        return changed

    def _gap(self, index: int) -> int:
        slot = self.slots[index]
        if not slot.count:
            return 0
        before = index - 1
        while before >= 0 and not self.slots[before].count:
            before -= 1
        return int(before >= 0 and (slot.spacious or self.slots[before].spacious))

    def _forget(self, first: int, last: int) -> None:
        for index in list(self._drawn):
            if len(self._drawn) <= KEPT // 2:
                break
            if not first <= index <= last:
                del self._drawn[index]
                self.slots[index].rows = self.slots[index].stream = None
