"""Two branches side by side: where they part, what each came to from there on, and which files end otherwise.

Invariant: pure but for the contents that each branch's `text` gives; a branch compared with itself differs in nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tui_agent.folds.comparison.files import FileEnd
from tui_agent.folds.comparison.side import Branch, Side, side
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.envelope import Envelope, Record, UnknownEvent
from tui_agent.protocol.events.model import ModelDelta, ModelResponded
from tui_agent.protocol.events.tool import ToolCalled, ToolProgress
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.parts import TextPart

AFTER_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """The last event that both have, and the words of what stands there."""

    seq: int
    after: str = ""


@dataclass(frozen=True, slots=True)
class Differing:
    """A file that ends otherwise: hunks of each branch against the fork point (empty: not changed there), or notes."""

    path: str
    left: str = ""
    right: str = ""
    left_note: str = ""
    right_note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`fork_point` is None where the two share nothing: then the figures are those of the whole branches."""

    fork_point: ForkPoint | None
    left: Side
    right: Side
    differ: tuple[Differing, ...] = ()


def compare(left: Branch, right: Branch) -> Comparison:
    """Set two branches side by side. Linear in their records."""
    left, right = replace(left, records=_whole(left.records)), replace(right, records=_whole(right.records))
    shared = _shared(left.records, right.records)
    one, other = side(left, shared), side(right, shared)
    if one.name == other.name:
        one, other = _told_apart(one, other)
    point = ForkPoint(left.records[shared - 1].seq, _words_at(left.records[:shared])) if shared else None
    return Comparison(point, one, other, tuple(_differing(one.files, other.files)))


def _told_apart(one: Side, other: Side) -> tuple[Side, Side]:
    """Two of one name, each with what they differ in."""
    apart = (one.session, other.session)
    if one.session == other.session:
        apart = (f"to {one.last_seq}", f"to {other.last_seq}")
    first, second = (f"{one.name}, {word}" for word in apart)
    return replace(one, name=first), replace(other, name=second)


def _whole(records: Iterable[Record]) -> list[Record]:
    """Without live pieces: which of them a log still holds depends on whether their whole has come."""
    return [one for one in records if not _is_piece(one)]


def _is_piece(record: Record) -> bool:
    return isinstance(record, Envelope) and isinstance(record.payload, ModelDelta | ToolProgress)


def _shared(left: Sequence[Record], right: Sequence[Record]) -> int:
    """How many records both begin with."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if not _same(one, other):
            break
        count += 1
    return count


def _same(one: Record, other: Record) -> bool:
    """Whether two records are one: a fork reads its parent's own lines, and a copy of them keeps their session."""
    if isinstance(one, Envelope) and isinstance(other, Envelope):
        same = (one.session, one.seq, one.at) == (other.session, other.seq, other.at)
        return same and one.payload == other.payload
    known = isinstance(one, UnknownEvent) and isinstance(other, UnknownEvent)
    return known and one == other


def _words_at(records: Sequence[Record]) -> str:
    """What was said or done last, in one line."""
    for record in reversed(records):
        if not isinstance(record, Envelope) or record.agent != MAIN_AGENT:
            continue
        match record.payload:
            case UserMessageReceived(text=text):
                said = text_preview(text)
            case ToolCalled(verb=verb, target=target):
                said = f"{verb} {target}"
            case ModelResponded(parts=parts):
                said = " ".join(text_preview(part.text) for part in parts if isinstance(part, TextPart))
            case _:
                continue
        if said.strip():
            return _short(said)
    return ""


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= AFTER_CHARS else f"{words[: AFTER_CHARS - 1]}…"


def _differing(left: Sequence[FileEnd], right: Sequence[FileEnd]) -> Iterable[Differing]:
    """The files of either that end otherwise: what one left alone is there as the other found it."""
    ones, others = {file.path: file for file in left}, {file.path: file for file in right}
    for path in dict.fromkeys((*ones, *others)):
        one, other = ones.get(path), others.get(path)
        if one is not None and other is not None and one.after == other.after:
            continue
        yield Differing(
            path,
            one.hunks if one else "",
            other.hunks if other else "",
            one.note if one else "",
            other.note if other else "",
        )
