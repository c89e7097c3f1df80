"""Finds out which lines of a file the session changed and which the user changed, and reverts the session's changes.

Each line is followed through the recorded versions of the file. Another session's changes count as the user's.

Invariant: a revert keeps the user's lines, and is refused if the user changed the same lines as the session.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.text.line_diff import (
    NO_NEWLINE_END,
    Change,
    LineDiff,
    find_changes,
    format_changes,
    group_changes,
)
from tui_agent.protocol.unicode_text import format_count

MAX_NAMED_RANGES = 5
"""Maximum number of line ranges that `describe_lines` names."""


class TracedLine(NamedTuple):
    """A line of a file, or a line that the session removed from the file.

    - `is_users`: True if the line is part of the user's version, which is the file without the session's changes.
    - `in_file`: True if the line is part of the file.
    - `is_shared`: True if the session changed the line, and the user changed the same line or the same place.
    """

    text: str
    is_users: bool
    in_file: bool
    is_shared: bool = False

    @property
    def is_changed(self) -> bool:
        """True if the session added or removed the line."""
        return self.is_users != self.in_file

    @property
    def is_added(self) -> bool:
        """True if the session added the line."""
        return self.in_file and not self.is_users

    @property
    def is_removed(self) -> bool:
        """True if the session removed the line."""
        return self.is_users and not self.in_file


@dataclass(frozen=True, slots=True)
class SessionDiff(LineDiff):
    """The session's changes to a file: the diff between the user's version and the file.

    - `shared_lines`: maps the index of a hunk to the numbers of its lines that the user changed too. A line that was
      removed has the number of the line that is now at its place.
    """

    shared_lines: dict[int, tuple[int, ...]]


def trace_lines(versions: Iterable[Sequence[str]]) -> list[TracedLine]:
    """Return one list with the lines of the newest version and of the user's version, in order.

    `versions`: the lines of each version, in the form of `split_lines`. The session made the second version from the
    first, the user the third from the second, and so on alternately.
    """
    lines: list[TracedLine] = []
    for number, version in enumerate(versions):
        if number == 0:
            lines = [_users_line(text) for text in version]
        else:
            lines = _add_change(lines, version, by_user=number % 2 == 0)
    return lines


def diff_traced_lines(lines: Sequence[TracedLine]) -> SessionDiff:
    """Return the diff between the user's version and the file."""
    old = [line.text for line in lines if line.is_users]
    new = [line.text for line in lines if line.in_file]
    blocks = list(_find_blocks(lines))
    diff = format_changes(old, new, [block.change for block in blocks])
    shared = {number: _shared_lines(hunk) for number, hunk in enumerate(_group_blocks(blocks))}
    shared = {number: lines_of_hunk for number, lines_of_hunk in shared.items() if lines_of_hunk}
    return SessionDiff(diff.text, diff.added, diff.removed, shared)


def count_hunks(lines: Sequence[TracedLine]) -> int:
    """Return the number of hunks in `diff_traced_lines(lines)`."""
    return len(_group_blocks(_find_blocks(lines)))


class HunkRevert(NamedTuple):
    """The result of a three-way merge that reverts a hunk.

    - `lines`: the new lines of the file. Do not use them if there are `shared_lines`: changes by the user are missing.
    - `hunk_lines`: the hunk's part of `revert_traced_hunk`'s argument `lines`: its changes, and the unchanged lines
      between them.
    - `shared_lines`: numbers of current lines that both the session and the user changed.
    """

    lines: list[str]
    hunk_lines: Sequence[TracedLine]
    shared_lines: tuple[int, ...]


def revert_traced_hunk(lines: Sequence[TracedLine], hunk: int, current: Sequence[str]) -> HunkRevert:
    """Revert one hunk of the session's changes in a file that the user may have changed later.

    - `hunk`: index of the hunk in `diff_traced_lines(lines)`.
    - `current`: the lines of the file now.
    """
    blocks = _group_blocks(_find_blocks(lines))[hunk]
    start, end = blocks[0].start, blocks[-1].end
    before, after = (
        [_users_line(line.text) for line in part if line.in_file] for part in (lines[:start], lines[end:])
    )
    merged = _add_change([*before, *lines[start:end], *after], current, by_user=True)
    users = [line.text for line in merged if line.is_users]
    return HunkRevert(users, lines[start:end], _shared_lines(_find_blocks(merged)))


def describe_lines(numbers: Iterable[int]) -> str:
    """Describe line numbers in rising order, e.g. `line 3` or `lines 3–5, 9`. Only the first ranges are named."""
    ranges: list[tuple[int, ...]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number,))
    words = ", ".join("–".join(map(str, ends)) for ends in ranges[:MAX_NAMED_RANGES])
    unnamed = len(ranges) - MAX_NAMED_RANGES
    rest = f" and {format_count(unnamed, 'more place')}" if unnamed > 0 else ""
    return f"line {words}" if words.isdecimal() else f"lines {words}{rest}"


# -- blocks ----------------------------------------------------------------------------------------------------------


class _Block(NamedTuple):
    """Successive lines that the session changed, from the index `start` to the index before `end`."""

    start: int
    end: int
    change: Change
    shared_lines: tuple[int, ...]
    """Numbers of the shared lines, as in `SessionDiff`."""


def _find_blocks(lines: Sequence[TracedLine]) -> list[_Block]:
    blocks: list[_Block] = []
    start = a1 = b1 = 0
    file_length = sum(line.in_file for line in lines)
    for is_changed, group in groupby(lines, key=lambda line: line.is_changed):
        block = list(group)
        end = start + len(block)
        a2, b2 = a1 + sum(line.is_users for line in block), b1 + sum(line.in_file for line in block)
        if is_changed:
            shared = _number_shared_lines(block, b1, file_length)
            blocks.append(_Block(start, end, Change(a1, a2, b1, b2), shared))
        start, a1, b1 = end, a2, b2
    return blocks


def _number_shared_lines(block: Iterable[TracedLine], position: int, file_length: int) -> tuple[int, ...]:
    """Return the line numbers of the shared lines in a block. `position`: how many lines of the file precede the
    block.
    """
    numbers: dict[int, None] = {}
    for line in block:
        if line.is_shared:
            numbers[min(position + 1, max(1, file_length))] = None
        position += line.in_file
    return tuple(numbers)


def _group_blocks(blocks: Sequence[_Block]) -> list[list[_Block]]:
    """Return the blocks of each hunk."""
    ungrouped = iter(blocks)
    return [list(islice(ungrouped, len(hunk))) for hunk in group_changes([block.change for block in blocks])]


def _shared_lines(blocks: Iterable[_Block]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(number for block in blocks for number in block.shared_lines))


# -- changes ---------------------------------------------------------------------------------------------------------


def _add_change(lines: Sequence[TracedLine], version: Sequence[str], *, by_user: bool) -> list[TracedLine]:
    """Return the lines after the user or the session changed the file to `version`."""
    if by_user:
        lines = _end_sessions_last_line(lines, version)
    places = [place for place, line in enumerate(lines) if line.in_file]
    result: list[TracedLine] = []
    done = 0
    for change in find_changes([lines[place].text for place in places], version):
        # Removed lines around the changed lines belong to the change: the user may have put them back.
        start = places[change.a1 - 1] + 1 if change.a1 else 0
        end = places[change.a2] if change.a2 < len(places) else len(lines)
        old, texts = lines[start:end], version[change.b1 : change.b2]
        result += lines[done:start]
        if by_user:
            is_beside_added = any(
                line.is_added for line in (*lines[start - 1 : start], *lines[end : end + 1])
            )
            result += _merge_users_change(old, texts, is_beside_added=is_beside_added)
        else:
            result += _merge_sessions_change(old, texts)
        done = end
    return [*result, *lines[done:]]


def _end_sessions_last_line(lines: Sequence[TracedLine], version: Sequence[str]) -> Sequence[TracedLine]:
    """Return `lines`, with a line feed at the end of the session's last line unless the user kept the end as it was.

    So lines that the user writes below this line are not a change of the line itself.
    """
    last = max((place for place, line in enumerate(lines) if line.in_file), default=None)
    if last is None or not lines[last].is_added or lines[last].text in version[-1:]:
        return lines
    text = lines[last].text.removesuffix(NO_NEWLINE_END)
    return [*lines[:last], lines[last]._replace(text=text), *lines[last + 1 :]]


def _merge_sessions_change(old: Sequence[TracedLine], texts: Sequence[str]) -> list[TracedLine]:
    """Return the traced lines that replace the lines `old` after the session wrote `texts` in their place."""
    is_shared = any(line.is_shared for line in old if line.in_file)
    added = [TracedLine(text, is_users=False, in_file=True, is_shared=is_shared) for text in texts]
    removed = [line._replace(in_file=False) for line in old if line.is_users]
    # If the session had removed lines here, it may now have put some of them back.
    if not any(line.is_removed for line in old):
        return _interleave(removed, added)
    result: list[TracedLine] = []
    for piece in _align(removed, texts):
        if piece.is_equal:
            result += map(_users_line, texts[piece.b1 : piece.b2])
        else:
            result += _interleave(removed[piece.a1 : piece.a2], added[piece.b1 : piece.b2])
    return result


def _interleave(removed: list[TracedLine], added: list[TracedLine]) -> list[TracedLine]:
    """Return removed and added lines, each added line after the removed line that it replaces."""
    # A later change of one added line then concerns only the line that it replaced.
    if len(removed) != len(added):
        return [*removed, *added]
    return [line for pair in zip(removed, added, strict=True) for line in pair]


def _merge_users_change(
    old: Sequence[TracedLine], texts: Sequence[str], *, is_beside_added: bool
) -> list[TracedLine]:
    """Return the traced lines that replace the lines `old` after the user wrote `texts` in their place.

    `is_beside_added`: True if the line before or after `old` was added by the session.
    """
    removed = [line for line in old if line.is_removed]
    pieces = _align(removed, texts)
    if any(piece.is_equal for piece in pieces):  # the user put lines back
        result: list[TracedLine] = []
        for piece in pieces:
            gone, new = removed[piece.a1 : piece.a2], texts[piece.b1 : piece.b2]
            if piece.is_equal or not gone:
                result += map(_users_line, new)
            else:
                result += _share(gone, new) if new else gone
        return result
    users = [_users_line(text) for text in texts]
    if any(line.is_added for line in old):  # the user changed lines of the session
        return _share(removed, texts)
    if not removed or not texts:  # only the user changed lines here, or only removed some
        return [*users, *removed]
    places = [place for place, line in enumerate(old) if line.in_file]
    if not places:
        # Between unchanged lines, nothing tells if the new lines belong above or below the removed ones.
        return [*users, *removed] if is_beside_added else _share(removed, texts)
    # Removed lines before and after the user's lines are separate changes. Only those between them are shared.
    before, after = list(old[: places[0]]), list(old[places[-1] + 1 :])
    between = [line for line in old[places[0] : places[-1]] if line.is_removed]
    return [*before, *(_share(between, texts) if between else users), *after]


def _users_line(text: str) -> TracedLine:
    """Return a line that is part of the file and of the user's version."""
    return TracedLine(text, is_users=True, in_file=True)


def _share(removed: Iterable[TracedLine], texts: Iterable[str]) -> list[TracedLine]:
    """Return lines that the session removed and lines that the user wrote in their place, as shared lines."""
    return [
        *(line._replace(is_shared=True) for line in removed),
        *(TracedLine(text, is_users=False, in_file=True, is_shared=True) for text in texts),
    ]


class _Piece(NamedTuple):
    """A piece `a1:a2` of the removed lines, and a piece `b1:b2` of the new texts. `is_equal`: True if they are equal."""

    a1: int
    a2: int
    b1: int
    b2: int
    is_equal: bool


def _align(removed: Sequence[TracedLine], texts: Sequence[str]) -> list[_Piece]:
    """Split removed lines and new texts into equal and different pieces, in order."""
    pieces: list[_Piece] = []
    a = b = 0
    for change in find_changes([line.text for line in removed], texts):
        if change.a1 > a:
            pieces.append(_Piece(a, change.a1, b, change.b1, is_equal=True))
        pieces.append(_Piece(change.a1, change.a2, change.b1, change.b2, is_equal=False))
        a, b = change.a2, change.b2
    if len(removed) > a:
        pieces.append(_Piece(a, len(removed), b, len(texts), is_equal=True))
    return pieces
