"""Automatic folding of transcript entries when a turn ends.

Invariant: entries that the user opened or folded, and entries in view, keep their state.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from tui_agent.folds.transcript.entries import AnswerEntry, Entry, QuestionEntry, ToolEntry, UserEntry
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.transcript.entry_drawing import DisplayState, can_fold, is_open
from tui_agent.tui.transcript.markdown_stream import MarkdownStream
from tui_agent.tui.transcript.message_rows import FOLDED_USER_ROWS
from tui_agent.tui.transcript.style import STATE_COLUMN, Look
from tui_agent.tui.transcript.styled_rows import Row, TextRun
from tui_agent.tui.transcript.tool_rows import TIME_CELLS, is_quiet
from tui_agent.units import format_duration

MAX_UNGROUPED_CALLS: Final = 4
"""If more read-only calls than this follow each other, they are folded into one row."""

_NOUNS: Final = {"read": "read", "search": "search", "grep": "search", "find": "search", "glob": "search"}
"""Maps the verb of a call to the noun by which a group counts it; other verbs are counted as `look`."""


@dataclass(slots=True)
class Slot:
    """The rows of one transcript entry in the layout, and whether the entry is folded."""

    id: str
    count: int = 0
    """Number of rows of the entry, without `gap`."""
    gap: int = 0
    """Number of empty rows before the entry."""
    has_gaps: bool = False
    """True if the entry has an empty row before and after it."""
    exact: bool = False
    """False while `count` is an estimate."""
    opened: bool | None = None
    """True if the user opened the entry, False if the user folded it, otherwise None."""
    start: int | None = None
    """Number of the first line to show of an opened, very long entry; None for the default."""
    has_turn_ended: bool = False
    """True once the entry's turn has ended."""
    active: bool = False
    """True while the cursor or the mouse is on the entry."""
    group: int = -1
    """Index of the first slot in the group of folded calls; -1 if there is no group."""
    rows: list[Row] | None = None
    """The drawn rows of the entry; None if they are not drawn."""
    stream: MarkdownStream | None = None


class Slots(Protocol):
    """Interface of `Layout`, as used by `AutoFold`."""

    slots: list[Slot]

    def entry(self, index: int) -> Entry: ...
    def display_state(self, index: int) -> DisplayState: ...
    def rows(self, index: int) -> list[Row]: ...
    def touch(self, *indexes: int) -> None: ...
    def set_opened(self, index: int, opened: bool | None) -> None: ...


class AutoFold:
    """Tracks the current turn, and folds the entries of the previous turn when a new turn begins."""

    def __init__(self, layout: Slots) -> None:
        self.deferred: set[int] = set()
        """Indices of entries that were in view at the end of their turn. `fold_deferred` folds them later."""
        self._layout = layout
        self._turn = 0
        """Number of the current turn; 0 if there is none."""
        self._turn_start = 0
        """Index of the current turn's first entry."""
        self._open_groups: set[str] = set()
        """Ids of the first entries of groups that the user opened. These are not grouped again."""

    def reset(self) -> None:
        """Forget all turns."""
        self.deferred.clear()
        self._turn = self._turn_start = 0

    def truncate(self, count: int) -> None:
        """Remove all but the first `count` entries."""
        self.deferred = {index for index in self.deferred if index < count}
        if self._turn_start < count:
            return
        # The current turn is gone. Its predecessor becomes the current turn, so show its entries unfolded again.
        start = 0
        self._turn = 0
        for index in range(count - 1, -1, -1):
            entry = self._layout.entry(index)
            if isinstance(entry, UserEntry) and entry.state == "sent":
                if self._turn and entry.turn != self._turn:
                    break
                start, self._turn = index, entry.turn
        self._turn_start = start
        for slot in self._layout.slots[start:count]:
            slot.has_turn_ended, slot.group = False, -1
        self._layout.touch(*range(start, count))

    def note_entry(self, index: int) -> None:
        """Handle a new or changed entry. A sent message of a newer turn folds the entries of the previous turn."""
        entry = self._layout.entry(index)
        if isinstance(entry, UserEntry) and entry.state == "sent" and entry.turn > self._turn:
            self._fold_turn(self._turn_start, index)
            self._turn, self._turn_start = entry.turn, index

    def fold_deferred(self) -> None:
        """Fold the entries that were in view at the end of their turn."""
        due = [index for index in self.deferred if index < self._turn_start]
        self.deferred.clear()
        if due:
            self._fold_turn(min(due), self._turn_start)

    def toggle(self, index: int) -> bool:
        """Fold an entry, show all its rows, or open its group; return False if nothing changes."""
        layout = self._layout
        if not self.can_toggle(index):
            return False
        if layout.slots[index].group >= 0:
            self.open_group(layout.slots[index].group)
        else:
            layout.set_opened(index, self.has_more(index))
        return True

    def can_toggle(self, index: int) -> bool:
        """Return True if `toggle` changes the rows of the entry."""
        slot, entry = self._layout.slots[index], self._layout.entry(index)
        if slot.group >= 0 or not can_fold(entry):
            return slot.group >= 0
        match entry:
            case AnswerEntry() | UserEntry():
                max_rows = FOLDED_USER_ROWS if isinstance(entry, UserEntry) else 1
                return self.has_more(index) or len(self._layout.rows(index)) > max_rows
            case QuestionEntry():
                return entry.answer is None or slot.opened is True or self._hides_rows(index)
            case _:
                return True

    def has_more(self, index: int) -> bool:
        """Return True if the entry at this index is folded or only partly shown."""
        slot, entry = self._layout.slots[index], self._layout.entry(index)
        if slot.opened is not None and slot.group < 0:
            return not slot.opened
        return slot.group >= 0 or (
            can_fold(entry)
            and (not is_open(entry, self._layout.display_state(index)) or self._hides_rows(index))
        )

    def _hides_rows(self, index: int) -> bool:
        """Return True if the entry has a row about hidden lines, such as `12 earlier lines`."""
        return any(run.act == "fold" for row in self._layout.rows(index)[1:] for run in row.runs)

    def open_group(self, leader: int) -> None:
        """Show each entry of a group in its own row. `leader` is the index of the first entry."""
        slots = self._layout.slots
        self._open_groups.add(slots[leader].id)
        for index in self._group_range(leader):
            slots[index].group = -1
            self._layout.touch(index)

    def group_members(self, leader: int) -> list[ToolEntry]:
        """Return the tool calls in a group. `leader` is the index of its first entry."""
        entries = map(self._layout.entry, self._group_range(leader))
        return [entry for entry in entries if isinstance(entry, ToolEntry)]

    def _group_range(self, leader: int) -> range:
        slots, end = self._layout.slots, leader
        while end < len(slots) and slots[end].group == leader:
            end += 1
        return range(leader, end)

    def _fold_turn(self, start: int, end: int) -> None:
        """Fold the entries of an ended turn, and group its consecutive read-only calls.

        `start`, `end`: indices of the turn's first entry and of the first entry after the turn.
        """
        run: list[int] = []
        # One entry more, so that a run of calls at the end of the turn is grouped too.
        for index in range(start, end + 1):
            entry, slot = self._layout.entry(index), self._layout.slots[index]
            quiet = index < end and isinstance(entry, ToolEntry) and is_quiet(entry)
            if quiet and slot.opened is None and index not in self.deferred:
                run.append(index)
            else:
                self._group(run)
                run = []
            if index < end and not slot.has_turn_ended and index not in self.deferred:
                slot.has_turn_ended = True
                if isinstance(entry, ToolEntry) and not quiet:
                    self._layout.touch(index)

    def _group(self, run: Sequence[int]) -> None:
        slots = self._layout.slots
        if len(run) <= MAX_UNGROUPED_CALLS or slots[run[0]].id in self._open_groups:
            return
        for index in run:
            slots[index].group = run[0]
        self._layout.touch(*run)


def group_row(members: Sequence[ToolEntry], look: Look) -> Row:
    """Return the row for a folded group of calls: `▸ 7 reads, 2 searches 0.1 s`."""
    counts = Counter(_NOUNS.get(entry.verb, "look") for entry in members)
    words = ", ".join(
        format_count(counts[noun], noun, many)
        for noun, many in (("read", ""), ("search", "searches"), ("look", ""))
        if counts[noun]
    )
    time = format_duration(sum(entry.duration_ms or 0.0 for entry in members) / 1000).rjust(TIME_CELLS)
    runs = [
        TextRun(" " * STATE_COLUMN, look.ground),
        TextRun(look.symbols.folded + " ", look.style("t3"), act="fold"),
        TextRun(words, look.style("t2"), act="fold"),
    ]
    return look.both_sides(runs, [TextRun(time, look.style("t3"))])
