"""Layout of the transcript: the entries that are laid out, and their rows (an estimated number until they are drawn).

Invariant: an entry's height is exact once the entry was drawn with the current look.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, overload

from tui_agent.folds.transcript.entries import AnswerEntry, Entry, UserEntry
from tui_agent.protocol.stored_text import LongText
from tui_agent.tui.transcript.auto_fold import AutoFold, Slot, group_row
from tui_agent.tui.transcript.entry_drawing import DisplayState, draw, guess_rows, has_gaps, new_stream
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.styled_rows import Row

MAX_DRAWN: Final = 256
"""Maximum number of slots that keep their drawn rows."""
MAX_UNWINDOWED_ENTRIES: Final = 20_000
"""If a transcript has more entries than this, only its newest part is laid out at first."""
WINDOW_ENTRIES: Final = 5_000
"""Number of entries added to a window when the user scrolls near its beginning."""


class Heights:
    """The heights of all entries, in rows, as a Fenwick tree: updates, sums and searches cost O(log n)."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._tree = [0, *self._heights]
        for node in range(1, len(self._tree)):
            parent = node + (node & -node)
            if parent < len(self._tree):
                self._tree[parent] += self._tree[node]
        self.total = sum(self._heights)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        """Add a height at the end."""
        self._heights.append(height)
        node = len(self._heights)
        # A new node holds the sum of the `node & -node` heights that end with its own: all rows up to it, minus the
        # rows before the first of these.
        self.total += height
        self._tree.append(self.total - self.top(node - (node & -node)))

    def drop(self, count: int) -> None:
        """Remove all but the first `count` heights."""
        del self._heights[count:]
        del self._tree[count + 1 :]
        self.total = self.top(len(self._heights))

    def set(self, index: int, height: int) -> int:
        """Change a height; return the difference between the new and the old height."""
        change = height - self._heights[index]
        if change:
            self._heights[index] = height
            self.total += change
            node = index + 1
            while node < len(self._tree):
                self._tree[node] += change
                node += node & -node
        return change

    def top(self, index: int) -> int:
        """Return the number of rows before entry `index`."""
        rows = 0
        while index > 0:
            rows += self._tree[index]
            index -= index & -index
        return rows

    def index_at(self, y: int) -> int:
        """Return the index of the entry that contains row `y`."""
        index, rest = 0, y
        bit = 1 << (len(self._heights).bit_length())
        while bit:
            # The node `follow` holds the sum of the `bit` entries after `index`. If they all end above row `y`, skip them.
            follow = index + bit
            if follow < len(self._tree) and self._tree[follow] <= rest:
                index = follow
                rest -= self._tree[follow]
            bit >>= 1
        return min(index, len(self._heights) - 1)


class Window(Sequence[Entry]):
    """The newest part of a very long transcript, which is laid out first: the entries from index `first` on.

    A window begins at the start of a turn, and ends at the transcript's end.
    """

    def __init__(self, entries: Sequence[Entry], first: int) -> None:
        self._entries = entries
        self.first = first

    def __len__(self) -> int:
        return max(0, len(self._entries) - self.first)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        return self._entries[index if index < 0 else self.first + index]

    def __iter__(self) -> Iterator[Entry]:
        for index in range(self.first, len(self._entries)):
            yield self._entries[index]


def window_start(entries: Sequence[Entry], index: int | None = None) -> int:
    """Return the index of the first entry of the window to lay out.

    - With `index`: the window begins at least `WINDOW_ENTRIES` entries before this entry.
    - Without `index`: the window has at least the newest `WINDOW_ENTRIES` entries. A transcript with at most
      `MAX_UNWINDOWED_ENTRIES` entries is laid out as a whole.
    """
    if index is None and len(entries) <= MAX_UNWINDOWED_ENTRIES:
        return 0
    start = (len(entries) if index is None else index) - WINDOW_ENTRIES
    for first in range(start, 0, -1):
        entry = entries[first]
        if isinstance(entry, UserEntry) and entry.state == "sent":
            return first
    return 0


def index_of_event(entries: Sequence[Entry], seq: int) -> int:
    """Return the index of the last entry that began at or before event `seq`, or -1."""
    return bisect_right(entries, seq, key=lambda entry: entry.seq) - 1


class Layout:
    """The rows of all transcript entries, laid out for one look (width, colours and symbols)."""

    def __init__(self, look: Look, read: Callable[[LongText], str], now: Callable[[], float]) -> None:
        self.look = look
        self.slots: list[Slot] = []
        self.heights = Heights()
        self._entries: Sequence[Entry] = ()
        self._ids: dict[str, int] = {}
        self._read = read
        self.now = now
        self._drawn: dict[int, None] = {}
        self.auto_fold = AutoFold(self)

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def total(self) -> int:
        """Number of rows of all entries, estimated for entries that are not drawn."""
        return self.heights.total

    def entry(self, index: int) -> Entry:
        return self._entries[index]

    def index_of(self, entry_id: str) -> int | None:
        return self._ids.get(entry_id)

    def display_state(self, index: int) -> DisplayState:
        slot = self.slots[index]
        return DisplayState(slot.opened, slot.has_turn_ended, slot.active, self.now(), slot.start)

    def set_entries(
        self, entries: Sequence[Entry], changed: Iterable[int], in_view: Iterable[int] = ()
    ) -> None:
        """Use a newer view of the transcript.

        - `changed`: indices of the changed entries; new entries can be left out
        - `in_view`: indices of the entries on the screen, which are not folded at the end of their turn but later
        """
        self.auto_fold.deferred.update(in_view)
        known = min(len(self.slots), len(entries))
        # Another entry in this place means another session or another branch.
        is_other = known == 0 or entries[known - 1].id != self.slots[known - 1].id
        self._entries = entries
        if not is_other and known < len(self.slots):
            self._truncate(known)
        if is_other or not entries or entries[0].id != self.slots[0].id:
            self._rebuild()
            return
        for index in sorted({index for index in changed if index < known}):
            self.touch(index)
            self.auto_fold.note_entry(index)
        self.grow(entries, len(entries))

    def grow(self, entries: Sequence[Entry], count: int) -> bool:
        """Add at most `count` further entries to the layout. Return True if there are still entries outside the
        layout.
        """
        self._entries = entries
        end = min(len(entries), len(self.slots) + count)
        for index in range(len(self.slots), end):
            self._append(index)
        return end < len(entries)

    def set_look(self, look: Look) -> None:
        """Use another look, e.g. another width."""
        # If only the colours differ, all heights stay valid.
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
        """Draw every entry with rows between `y` and `end`.

        Return True if a height changed. Then call this method again, because the rows have moved.
        """
        if not self.slots:
            return False
        before = self.heights.total
        changed = False
        index = first = self.heights.index_at(max(y, 0))
        top = self.heights.top(index)
        while index < len(self.slots) and top < end:
            changed = self.draw_slot(index) or changed
            top += self.heights[index]
            index += 1
        if len(self._drawn) > MAX_DRAWN:
            self._forget(first, index)
        return changed or self.heights.total != before

    def rows(self, index: int) -> list[Row]:
        """Return the rows of an entry, without the empty row before the entry."""
        self.draw_slot(index)
        return self.slots[index].rows or []

    def place(self, y: int) -> tuple[int, int]:
        """Return (index of the entry, index of the row in the entry) for row `y` of the layout.

        The empty row before an entry has the index -1.
        """
        index = self.heights.index_at(y)
        return index, y - self.heights.top(index) - self.slots[index].gap

    def top(self, index: int) -> int:
        """Return the number of an entry's first row in the layout, not counting the empty row before the entry."""
        return self.heights.top(index) + self.slots[index].gap

    def draw_slot(self, index: int) -> bool:
        """Draw an entry unless the entry is drawn already; return True if its height changed."""
        slot, entry = self.slots[index], self._entries[index]
        # To the end, because `_forget` drops the least recently drawn slots first.
        self._drawn.pop(index, None)
        self._drawn[index] = None
        if slot.rows is not None:
            return False
        streams = isinstance(entry, AnswerEntry) and entry.streaming
        if slot.group >= 0:
            is_leader = slot.group == index
            slot.rows = [group_row(self.auto_fold.group_members(index), self.look)] if is_leader else []
        else:
            slot.stream = (slot.stream or new_stream(self.look)) if streams else None
            slot.rows = draw(entry, self.display_state(index), self.look, self._read, slot.stream)
        slot.exact = True
        return self._resize(index, len(slot.rows))

    def set_opened(self, index: int, opened: bool | None, start: int | None = None) -> None:
        """Unfold the entry with this index (True), fold it (False), or let the automatic rules decide (None).

        `start`: number of the first line to show of a very long entry; None for the default.
        """
        self.slots[index].opened, self.slots[index].start = opened, start
        self.touch(index)

    def set_active(self, index: int, active: bool) -> None:
        """Record whether the cursor or the mouse is on the entry."""
        slot = self.slots[index]
        if slot.active != active:
            slot.active = active
            if isinstance(self._entries[index], UserEntry):
                self.touch(index)

    def touch(self, *indexes: int) -> None:
        """Mark the entries whose content or state changed, so that they are drawn again when they are visible."""
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
        self.auto_fold.reset()
        self.grow(self._entries, len(self._entries))
        for entry_id, is_opened in opened.items():
            if (index := self._ids.get(entry_id)) is not None:
                self.set_opened(index, is_opened)

    def _truncate(self, count: int) -> None:
        for slot in self.slots[count:]:
            del self._ids[slot.id]
        del self.slots[count:]
        self.heights.drop(count)
        self._drawn = {index: None for index in self._drawn if index < count}
        self.auto_fold.truncate(count)

    def _append(self, index: int) -> None:
        entry = self._entries[index]
        self.slots.append(Slot(entry.id))
        self._ids[entry.id] = index
        self._guess(index)
        self.heights.append(self.slots[index].gap + self.slots[index].count)
        self.auto_fold.note_entry(index)

    def _guess(self, index: int) -> None:
        slot, entry = self.slots[index], self._entries[index]
        state = self.display_state(index)
        self._set_count(
            index, (index == slot.group) if slot.group >= 0 else guess_rows(entry, state, self.look)
        )

    def _set_count(self, index: int, count: int) -> None:
        """Set an entry's number of rows, and decide whether an empty row comes before the entry."""
        slot = self.slots[index]
        slot.count = count
        slot.has_gaps = slot.group < 0 and has_gaps(self._entries[index], count)
        slot.gap = self._gap(index)

    def _resize(self, index: int, count: int) -> bool:
        """Set the number of rows of an entry; return True if a height changed."""
        slot = self.slots[index]
        before = (slot.has_gaps, slot.count > 0)
        self._set_count(index, count)
        changed = self.heights.set(index, slot.gap + count) != 0
        if before != (slot.has_gaps, count > 0) or changed:
            # The gap before the next entry depends on this entry. Entries without rows have no gap.
            for follower in range(index + 1, len(self.slots)):
                next_slot = self.slots[follower]
                next_slot.gap = self._gap(follower)
                changed = self.heights.set(follower, next_slot.gap + next_slot.count) != 0 or changed
                if next_slot.count:
                    break
        return changed

    def _gap(self, index: int) -> int:
        slot = self.slots[index]
        if not slot.count:
            return 0
        before = index - 1
        while before >= 0 and not self.slots[before].count:
            before -= 1
        return int(before >= 0 and (slot.has_gaps or self.slots[before].has_gaps))

    def _forget(self, first: int, last: int) -> None:
        """Drop the rows of the least recently drawn entries. Keep the rows of the entries from `first` to `last`."""
        for index in list(self._drawn):
            # Down to half, so that scrolling does not come here for each new slot.
            if len(self._drawn) <= MAX_DRAWN // 2:
                break
            if not first <= index <= last:
                del self._drawn[index]
                self.slots[index].rows = self.slots[index].stream = None
