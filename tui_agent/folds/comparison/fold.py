"""Comparison of two branches: their fork point, measured values since then, and different files.

Invariant: a branch compared with itself has no differences.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.comparison.compared_branch import Branch, Side, build_side
from tui_agent.folds.comparison.net_changes import NetFileChange
from tui_agent.protocol.envelope import Envelope, Record, UnknownEvent
from tui_agent.protocol.events.model import ModelDelta, ModelResponded
from tui_agent.protocol.events.tool import ToolCalled, ToolProgress
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.parts import text_previews
from tui_agent.protocol.stored_text import text_preview
from tui_agent.protocol.unicode_text import clip_line, format_count

AFTER_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class LastSharedEvent:
    """The last event that both branches share.

    `after`: one line about the newest message or action before the branches differ.
    """

    seq: int
    after: str = ""


@dataclass(frozen=True, slots=True)
class FileDifference:
    """A file that differs between the ends of two branches.

    - `left`, `right`: hunks of each branch since the fork point. Empty if the branch did not change the file.
    - `left_note`, `right_note`: reason why a changed file has no hunks.
    """

    path: str
    left: str = ""
    right: str = ""
    left_note: str = ""
    right_note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two branches. If `fork_point` is None, the branches share no event."""

    fork_point: LastSharedEvent | None
    left: Side
    right: Side
    differences: tuple[FileDifference, ...] = ()


def compare(left: Branch, right: Branch) -> Comparison:
    """Compare two branches."""
    left, right = (
        replace(left, records=_without_pieces(left.records)),
        replace(right, records=_without_pieces(right.records)),
    )
    shared = _count_shared(left.records, right.records)
    left_side, right_side = build_side(left, shared), build_side(right, shared)
    if left_side.name == right_side.name:
        left_side, right_side = _disambiguate(left_side, right_side)
    point = (
        LastSharedEvent(left.records[shared - 1].seq, _describe_last(left.records[:shared]))
        if shared
        else None
    )
    return Comparison(
        point,
        left_side,
        right_side,
        (
            *_differing_files(left_side.files, right_side.files),
            *_differing_folders(dict(left_side.folders), dict(right_side.folders)),
        ),
    )


def _disambiguate(left: Side, right: Side) -> tuple[Side, Side]:
    """Return the sides with different names, by adding a suffix to each name."""
    suffixes = (left.session, right.session)
    if left.session == right.session:
        suffixes = (f"to {left.last_seq}", f"to {right.last_seq}")
    left_name, right_name = (f"{left.name}, {suffix}" for suffix in suffixes)
    return replace(left, name=left_name), replace(right, name=right_name)


def _without_pieces(records: Iterable[Record]) -> list[Record]:
    """Return the records without the streamed pieces of answers and outputs."""
    return [record for record in records if not isinstance(record.payload, ModelDelta | ToolProgress)]


def _count_shared(left: Sequence[Record], right: Sequence[Record]) -> int:
    count = 0
    for left_record, right_record in zip(left, right, strict=False):
        if not _is_same_record(left_record, right_record):
            break
        count += 1
    return count


def _is_same_record(left: Record, right: Record) -> bool:
    """Return True if the records are equal. A record that a fork copied from its parent equals the parent's record."""
    if isinstance(left, Envelope) and isinstance(right, Envelope):
        same_position = (left.session, left.seq, left.time) == (right.session, right.seq, right.time)
        return same_position and left.payload == right.payload
    return isinstance(left, UnknownEvent) and left == right


def _describe_last(records: Sequence[Record]) -> str:
    for record in reversed(records):
        if record.agent != MAIN_AGENT:
            continue
        match record.payload:
            case UserMessageReceived(text=text) | UserSteered(text=text):
                line = text_preview(text)
            case ToolCalled(verb=verb, target=target):
                line = f"{verb} {target}"
            case ModelResponded(parts=parts):
                line = " ".join(text_previews(parts))
            case _:
                continue
        if line.strip():
            return clip_line(line, AFTER_CHARS)
    return ""


def _differing_files(
    left: Sequence[NetFileChange], right: Sequence[NetFileChange]
) -> Iterable[FileDifference]:
    """Yield the files that differ between the ends of both branches."""
    left_files, right_files = {file.path: file for file in left}, {file.path: file for file in right}
    for path in dict.fromkeys((*left_files, *right_files)):
        left_file, right_file = left_files.get(path), right_files.get(path)
        if left_file is not None and right_file is not None and left_file.after == right_file.after:
            continue
        yield FileDifference(
            path,
            left_file.hunks if left_file else "",
            right_file.hunks if right_file else "",
            left_file.note if left_file else "",
            right_file.note if right_file else "",
        )


def _differing_folders(left: Mapping[str, int], right: Mapping[str, int]) -> Iterable[FileDifference]:
    """Yield each generated folder in which the two branches changed different numbers of files."""
    for path in dict.fromkeys((*left, *right)):
        if left.get(path) != right.get(path):
            first, second = (
                format_count(side[path], "generated file") if path in side else "" for side in (left, right)
            )
            yield FileDifference(path, left_note=first, right_note=second)
