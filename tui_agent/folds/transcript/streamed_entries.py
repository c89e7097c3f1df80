"""The list of transcript entries: older entries are packed as JSON, and texts grow by streamed pieces.

Invariant: adding a piece of text takes constant time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, get_args, overload

from pydantic import TypeAdapter

from tui_agent.folds.transcript.entries import AnswerEntry, Entry, ReasoningEntry, ToolEntry
from tui_agent.folds.transcript.packed_list import UNPACKED_ITEMS, PackedList

OUTPUT_TAIL_CHARS = 16 * 1024
"""If a running tool's output is cut, this many characters at its end are kept."""
_MAX_OUTPUT_CHARS = 4 * OUTPUT_TAIL_CHARS
"""Length at which a running tool's output is cut, in characters."""
_ENTRY_CLASSES: tuple[type, ...] = get_args(Entry)


@cache
def _adapter(entry_class: type) -> TypeAdapter[list[Any]]:
    return TypeAdapter(list[entry_class])  # type: ignore[valid-type]


class PackedEntries(PackedList[Entry]):
    """A packed list of transcript entries."""

    # The first line of a chunk has one byte for each entry: the number of its class. Each class then has one line of
    # JSON.

    @staticmethod
    def dump(items: Sequence[Entry]) -> bytes:
        order = bytes(_ENTRY_CLASSES.index(type(item)) for item in items)
        groups = [
            _adapter(entry_class).dump_json([item for item in items if type(item) is entry_class])
            for entry_class in _ENTRY_CLASSES
        ]
        return b"\n".join([order, *groups])

    @staticmethod
    def load(data: bytes) -> Sequence[Entry]:
        order, *groups = data.split(b"\n")
        waiting = [
            iter(_adapter(entry_class).validate_json(group))
            for entry_class, group in zip(_ENTRY_CLASSES, groups, strict=True)
        ]
        return [next(waiting[number]) for number in order]


@dataclass(slots=True)
class PendingText:
    """Pieces of streamed text that are not yet joined to the text of their entry."""

    pieces: list[str] = field(default_factory=list)
    size: int = 0
    revision: int = 0


class EntryList(Sequence[Entry]):
    """The transcript's list of entries, readable as a sequence."""

    def __init__(self, keep: int = UNPACKED_ITEMS) -> None:
        self._entries = PackedEntries(keep)
        self._growing: dict[int, PendingText] = {}
        self._newlines: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self._entries)))]
        if index < 0:
            index += len(self._entries)
        if index in self._growing:
            self._join_pieces(index)
        return self._entries[index]

    def add(self, entry: Entry) -> int:
        """Append an entry and return its index."""
        self._entries.append(entry)
        if self._entries.needs_packing:
            self._pack()
        return len(self._entries) - 1

    def _pack(self) -> None:
        last = self._entries.packed_count + len(self._entries.oldest_chunk)
        for index in [position for position in self._growing if position < last]:
            self._join_pieces(index)
        self._entries.pack()

    def replace(self, index: int, entry: Entry) -> None:
        """Replace an entry and discard its pending pieces of text."""
        self._growing.pop(index, None)
        self._entries.replace(index, entry)

    def grow(self, index: int, piece: str, revision: int, skipped_lines: int = 0) -> None:
        """Append text to a streaming entry.

        `skipped_lines`: number of lines that the text leaves out.
        """
        growth = self._growing.get(index)
        if growth is None:
            growth = self._growing[index] = PendingText()
        growth.pieces.append(piece)
        growth.size += len(piece)
        self._newlines[index] = self._newlines.get(index, 0) + piece.count("\n") + skipped_lines
        growth.revision = revision
        if growth.size > _MAX_OUTPUT_CHARS and isinstance(self._entries[index], ToolEntry):
            tail = "".join(growth.pieces)[-OUTPUT_TAIL_CHARS:]
            growth.pieces, growth.size = [tail], len(tail)

    def _join_pieces(self, index: int) -> None:
        growth = self._growing.pop(index)
        entry = self._entries[index]
        text = "".join(growth.pieces)
        if isinstance(entry, ToolEntry):
            output = (entry.output + text)[-OUTPUT_TAIL_CHARS:]
            lines = self._newlines[index] + (not output.endswith("\n"))
            self._entries.replace(
                index, replace(entry, output=output, output_lines=lines, revision=growth.revision)
            )
        elif isinstance(entry, AnswerEntry | ReasoningEntry) and isinstance(entry.text, str):
            self._entries.replace(index, replace(entry, text=entry.text + text, revision=growth.revision))
