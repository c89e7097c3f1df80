"""Which rows the transcript has and where: slots for entries, guessed until they are drawn, folded, grouped.

Invariant: a slot's height is exact once it was drawn under the present look; only slots that are asked for are drawn;
drawn rows of slots that were not asked for lately are dropped. Slots keep their entry's index.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tui_agent.folds.transcript.entries import AnswerEntry, Entry, UserEntry
from tui_agent.protocol.base import LongText
from tui_agent.tui.transcript.auto_fold import Ages, Slot, group_row
from tui_agent.tui.transcript.draw import Shown, draw, guess, new_stream, spacious
from tui_agent.tui.transcript.heights import Heights
from tui_agent.tui.transcript.rows import Row
from tui_agent.tui.transcript.style import Look

KEPT: Final = 256
"""Slots whose rows are kept drawn."""


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
        self._drawn: dict[int, None] = {}
        self.ages = Ages(self)

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

        Slots in `held` are not folded when their turn is over; `ages.fold_held` does that later.
        """
        self.ages.held.update(held)
        known = min(len(self.slots), len(entries))
        fresh = known == 0 or entries[known - 1].id != self.slots[known - 1].id
        self._entries = entries
        if not fresh and known < len(self.slots):
            self._drop(known)
        if fresh or not entries or entries[0].id != self.slots[0].id:
            self._rebuild()
            return
        for index in sorted({index for index in changed if index < known}):
            self._update(index)
        for index in range(known, len(entries)):
            self._append(index)

    def grow(self, entries: Sequence[Entry], count: int) -> bool:
        """Take in the next `count` of these entries; False once all are in. For one that is made beside what is shown."""
        self._entries = entries
        end = min(len(entries), len(self.slots) + count)
        for index in range(len(self.slots), end):
            self._append(index)
        return end < len(entries)

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
            changed = self.draw_one(index) or changed
            top += self.heights[index]
            index += 1
        if len(self._drawn) > KEPT:
            self._forget(self.heights.at(max(y, 0)), index)
        return changed or self.heights.total != before

    def rows(self, index: int) -> list[Row]:
        """The rows of a slot, without its gap."""
        self.draw_one(index)
        return self.slots[index].rows or []

    def place(self, y: int) -> tuple[int, int]:
        """The slot that holds row `y` and the row in it (the gap is row -1)."""
        index = self.heights.at(y)
        return index, y - self.heights.top(index) - self.slots[index].gap

    def top(self, index: int) -> int:
        """The first row of a slot, behind its gap."""
        return self.heights.top(index) + self.slots[index].gap

    def draw_one(self, index: int) -> bool:
        """Draw a slot if it is not; True if its height changed."""
        slot, entry = self.slots[index], self._entries[index]
        self._drawn.pop(index, None)
        self._drawn[index] = None
        if slot.rows is not None:
            return False
        streams = isinstance(entry, AnswerEntry) and entry.streaming
        if slot.group >= 0:
            slot.rows = [group_row(self.ages.members(index), self.look)] if slot.group == index else []
        else:
            slot.stream = (slot.stream or new_stream(self.look)) if streams else None
            slot.rows = draw(entry, self.shown(index), self.look, self._read, slot.stream)
        slot.exact = True
        return self._resize(index, len(slot.rows))

    def set_opened(self, index: int, opened: bool | None) -> None:
        """Fold (False), open (True), or leave to the rules (None)."""
        self.slots[index].opened = opened
        self.touch(index)

    def set_active(self, index: int, active: bool) -> None:
        """Mark the slot that has focus or the mouse."""
        slot = self.slots[index]
        if slot.active != active:
            slot.active = active
            if isinstance(self._entries[index], UserEntry):
                self.touch(index)

    def touch(self, *indexes: int) -> None:
        """Draw these slots anew when they are seen: their fold or time or a text of theirs is another."""
        for index in indexes:
            slot = self.slots[index]
            slot.rows = None
            slot.exact = False
            self._drawn.pop(index, None)
            self._guess(index)
            self._resize(index, slot.count)

    def _rebuild(self) -> None:
        opened = {slot.id: slot.opened for slot in self.slots if slot.opened is not None}
        self.slots, self._ids, self._drawn = [], {}, {}
        self.heights = Heights()
        self.ages.begin()
        for index in range(len(self._entries)):
            self._append(index)
        for entry_id, wanted in opened.items():
            if (found := self._ids.get(entry_id)) is not None:
                self.set_opened(found, wanted)

    def _drop(self, count: int) -> None:
        """The entries from `count` on are gone: the view went back."""
        for slot in self.slots[count:]:
            del self._ids[slot.id]
        del self.slots[count:]
        self.heights.drop(count)
        self._drawn = {index: None for index in self._drawn if index < count}
        self.ages.go_back(count)

    def _append(self, index: int) -> None:
        entry = self._entries[index]
        self.slots.append(Slot(entry.id, entry.revision))
        self._ids[entry.id] = index
        self._guess(index)
        self.heights.append(self.slots[index].gap + self.slots[index].count)
        self.ages.meet(index)

    def _update(self, index: int) -> None:
        self.slots[index].revision = self._entries[index].revision
        self.touch(index)
        self.ages.meet(index)

    def _guess(self, index: int) -> None:
        slot, entry = self.slots[index], self._entries[index]
        slot.count = (index == slot.group) if slot.group >= 0 else guess(entry, self.shown(index), self.look)
        slot.spacious = slot.group < 0 and spacious(entry, slot.count)
        slot.gap = self._gap(index)

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
