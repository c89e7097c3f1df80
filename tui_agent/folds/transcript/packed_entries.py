"""How entries of the transcript and spans of the trace are packed: as JSON of their own types."""

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
from tui_agent.folds.transcript.packed_list import Shelf


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Entries by their class; `order` says whose turn it is."""

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
def _chunks() -> TypeAdapter[_Chunk]:
    return TypeAdapter(_Chunk)


@cache
def _spans() -> TypeAdapter[list[Span]]:
    return TypeAdapter(list[Span])


class EntryShelf(Shelf[Entry]):
    """The transcript's entries."""

    @staticmethod
    def dump(items: Sequence[Entry]) -> bytes:
        """Entries as JSON."""
        chunk = _Chunk("".join(_LETTERS[type(item)] for item in items), [], [], [], [], [], [], [])
        lists = _lists(chunk)
        for item in items:
            lists[_LETTERS[type(item)]].append(item)
        return _chunks().dump_json(chunk)

    @staticmethod
    def load(data: bytes) -> Sequence[Entry]:
        """Entries, from what `dump` made of them."""
        chunk = _chunks().validate_json(data)
        waiting: dict[str, Iterator[Entry]] = {name: iter(items) for name, items in _lists(chunk).items()}
        return [next(waiting[letter]) for letter in chunk.order]


def _lists(chunk: _Chunk) -> dict[str, list[Entry]]:
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


class SpanShelf(Shelf[Span]):
    """The trace's spans."""

    @staticmethod
    def dump(items: Sequence[Span]) -> bytes:
        """Spans as JSON."""
        return _spans().dump_json(list(items))

    @staticmethod
    def load(data: bytes) -> Sequence[Span]:
        """Spans, from what `dump` made of them."""
        return _spans().validate_json(data)
