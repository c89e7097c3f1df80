"""What folds by itself when its turn is over: good output, and long runs of reads into one row.

Invariant: what the user opened or folded, and what is being read, is left alone.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from tui_agent.folds.transcript.entries import Entry, ToolEntry, UserEntry
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.transcript.draw import Shown, is_open, toggles
from tui_agent.tui.transcript.markdown_stream import MarkdownStream
from tui_agent.tui.transcript.rows import Row, Run
from tui_agent.tui.transcript.style import STATE_COLUMN, Look
from tui_agent.tui.transcript.tools import TIME_CELLS, is_quiet
from tui_agent.units import format_duration

QUIET_RUN: Final = 4
"""More calls in a row than this fold into one row."""

_NOUNS: Final = {"read": "read", "search": "search", "grep": "search", "find": "search", "glob": "search"}


@dataclass(slots=True)
class Slot:
    """One entry's place in the layout. `rows` is None while the entry is not drawn; `group` is the index of the slot whose row stands for it, or -1."""

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


class Slots(Protocol):
    """What ages need of a layout."""

    slots: list[Slot]

    def entry(self, index: int) -> Entry: ...
    def shown(self, index: int) -> Shown: ...
    def touch(self, *indexes: int) -> None: ...
    def set_opened(self, index: int, opened: bool | None) -> None: ...


class Ages:
    """Knows which turn is the present one, and folds the one before it."""

    def __init__(self, layout: Slots) -> None:
        self.held: set[int] = set()
        """Slots that are being read: they fold later, with `fold_held`."""
        self._layout = layout
        self._turn = 0
        self._turn_start = 0
        self._open_groups: set[str] = set()

    def begin(self) -> None:
        """Other entries: no turn is known."""
        self.held.clear()
        self._turn = self._turn_start = 0

    def go_back(self, count: int) -> None:
        """Only the first `count` entries are left: the newest turn among them is the present one again."""
        self.held = {index for index in self.held if index < count}
        if self._turn_start < count:
            return
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
            slot.past, slot.group = False, -1
        self._layout.touch(*range(start, count))

    def meet(self, index: int) -> None:
        """An entry came or changed: a message that was sent ends the turn before it."""
        entry = self._layout.entry(index)
        if isinstance(entry, UserEntry) and entry.state == "sent" and entry.turn > self._turn:
            self._age(self._turn_start, index)
            self._turn, self._turn_start = entry.turn, index

    def fold_held(self) -> None:
        """Nobody reads the held slots any more: fold those whose turn is over."""
        held = [index for index in self.held if index < self._turn_start]
        self.held.clear()
        if held:
            self._age(min(held), self._turn_start)

    def toggle(self, index: int) -> bool:
        """Fold or open a slot, or open the group that it is folded into. False if it cannot be."""
        layout = self._layout
        if layout.slots[index].group >= 0:
            self.open_group(layout.slots[index].group)
            return True
        entry = layout.entry(index)
        if not toggles(entry):
            return False
        layout.set_opened(index, not is_open(entry, layout.shown(index)))
        return True

    def open_group(self, leader: int) -> None:
        """Show the rows of a group each on its own."""
        slots = self._layout.slots
        self._open_groups.add(slots[leader].id)
        index = leader
        while index < len(slots) and slots[index].group == leader:
            slots[index].group = -1
            self._layout.touch(index)
            index += 1

    def members(self, leader: int) -> list[ToolEntry]:
        """The calls that a group's row stands for."""
        slots = self._layout.slots
        found: list[ToolEntry] = []
        index = leader
        while index < len(slots) and slots[index].group == leader:
            entry = self._layout.entry(index)
            if isinstance(entry, ToolEntry):
                found.append(entry)
            index += 1
        return found

    def _age(self, start: int, end: int) -> None:
        """The turn of these slots is over."""
        run: list[int] = []
        for index in range(start, end + 1):
            entry, slot = self._layout.entry(index), self._layout.slots[index]
            quiet = index < end and isinstance(entry, ToolEntry) and is_quiet(entry)
            if quiet and slot.opened is None and index not in self.held:
                run.append(index)
            else:
                self._group(run)
                run = []
            if index < end and not slot.past and index not in self.held:
                slot.past = True
                if isinstance(entry, ToolEntry) and not quiet:
                    self._layout.touch(index)

    def _group(self, run: Sequence[int]) -> None:
        slots = self._layout.slots
        if len(run) <= QUIET_RUN or slots[run[0]].id in self._open_groups:
            return
        for index in run:
            slots[index].group = run[0]
        self._layout.touch(*run)


def group_row(members: Sequence[ToolEntry], look: Look) -> Row:
    """`▸ 7 reads, 2 searches   0.1 s`."""
    counts = Counter(_NOUNS.get(entry.verb, "look") for entry in members)
    words = ", ".join(
        format_count(counts[noun], noun, many)
        for noun, many in (("read", ""), ("search", "searches"), ("look", ""))
        if counts[noun]
    )
    time = format_duration(sum(entry.duration_ms or 0.0 for entry in members) / 1000).rjust(TIME_CELLS)
    runs = [
        Run(" " * STATE_COLUMN, look.ground),
        Run(look.symbols.folded + " ", look.s("t3"), act="fold"),
        Run(words, look.s("t2"), act="fold"),
    ]
    return look.both_sides(runs, [Run(time, look.s("t3"))])
