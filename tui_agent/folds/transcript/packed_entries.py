"""Packed lists of transcript entries and of trace spans, with older items as JSON."""

from collections.abc import Sequence
from functools import cache
from typing import Any, get_args

from pydantic import TypeAdapter

from tui_agent.folds.trace.spans import Span
from tui_agent.folds.transcript.entries import Entry
from tui_agent.folds.transcript.packed_list import PackedList

_ENTRY_CLASSES: tuple[type, ...] = get_args(Entry)


@cache
def _adapter(item_class: type) -> TypeAdapter[list[Any]]:
    return TypeAdapter(list[item_class])  # type: ignore[valid-type]


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


class PackedSpans(PackedList[Span]):
    """A packed list of trace spans."""

    @staticmethod
    def dump(items: Sequence[Span]) -> bytes:
        return _adapter(Span).dump_json(list(items))

    @staticmethod
    def load(data: bytes) -> Sequence[Span]:
        return _adapter(Span).validate_json(data)
