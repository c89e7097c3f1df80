"""Packing of transcript entries and trace spans: as JSON of their own types."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from pydantic import TypeAdapter

from tui_agent.folds.trace.spans import Span
from tui_agent.folds.transcript.entries import (
    AnswerEntry,
    Entry,
    NoticeEntry,
    QuestionEntry,
    ReasoningEntry,
    ToolEntry,
    TurnEntry,
    UserEntry,
)
from tui_agent.folds.transcript.packed_list import PackedList


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Entries by class; `order` has one letter per entry, in their original order."""

    order: str
    user: list[UserEntry]
    answer: list[AnswerEntry]
    reasoning: list[ReasoningEntry]
    tool: list[ToolEntry]
    notice: list[NoticeEntry]
    question: list[QuestionEntry]
    turn: list[TurnEntry]


_LETTERS: dict[type[Entry], str] = {
    UserEntry: "u",
    AnswerEntry: "a",
    ReasoningEntry: "r",
    ToolEntry: "t",
    NoticeEntry: "n",
    QuestionEntry: "q",
    TurnEntry: "e",
}


@cache
def _chunk_adapter() -> TypeAdapter[_Chunk]:
    return TypeAdapter(_Chunk)


@cache
def _span_adapter() -> TypeAdapter[list[Span]]:
    return TypeAdapter(list[Span])


class PackedEntries(PackedList[Entry]):
    """A packed list of transcript entries."""

    @staticmethod
    def dump(items: Sequence[Entry]) -> bytes:
        """Return entries as JSON."""
        chunk = _Chunk("".join(_LETTERS[type(item)] for item in items), [], [], [], [], [], [], [])
        lists = _lists_by_letter(chunk)
        for item in items:
            lists[_LETTERS[type(item)]].append(item)
        return _chunk_adapter().dump_json(chunk)

    @staticmethod
    def load(data: bytes) -> Sequence[Entry]:
        """Return the entries that `dump` serialised."""
        chunk = _chunk_adapter().validate_json(data)
        waiting: dict[str, Iterator[Entry]] = {
            name: iter(items) for name, items in _lists_by_letter(chunk).items()
        }
        return [next(waiting[letter]) for letter in chunk.order]


def _lists_by_letter(chunk: _Chunk) -> dict[str, list[Entry]]:
    lists = (
        chunk.user,
        chunk.answer,
        chunk.reasoning,
        chunk.tool,
        chunk.notice,
        chunk.question,
        chunk.turn,
    )
    return dict(zip(_LETTERS.values(), lists, strict=True))  # type: ignore[arg-type]  # each list has its letter


class PackedSpans(PackedList[Span]):
    """A packed list of trace spans."""

    @staticmethod
    def dump(items: Sequence[Span]) -> bytes:
        """Return spans as JSON."""
        return _span_adapter().dump_json(list(items))

    @staticmethod
    def load(data: bytes) -> Sequence[Span]:
        """Return the spans that `dump` serialised."""
        return _span_adapter().validate_json(data)
