"""Differences between two texts, as hunks of a unified diff and as line counts.

Invariant: a block of lines that is too large to compare is reported as replaced.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final, NamedTuple

from tui_agent.fast_dataclass import dataclass

CONTEXT_LINES = 3
EXACT_LIMIT = 1_000_000
"""Maximum product of both texts' line counts for an exact comparison."""
NO_NEWLINE = "\\ No newline at end of file"
NO_NEWLINE_END: Final = f"\n{NO_NEWLINE}"
_HUNK_HEAD: Final = re.compile(r"^@@ -(?P<old>\d+)(?:,\d+)? \+(?P<new>\d+)(?:,\d+)? @@$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LineDiff:
    """A diff's hunks, without the file header, and its line counts."""

    text: str
    added: int
    removed: int


class FileCounts(NamedTuple):
    """The numbers of lines added to and removed from a file."""

    path: str
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """A change: lines `b1:b2` of the new text replace lines `a1:a2` of the old text."""

    a1: int
    a2: int
    b1: int
    b2: int


def split_lines(text: str) -> list[str]:
    """Return the lines of a text without their line feeds.

    If the text does not end with a line feed, the marker `NO_NEWLINE` follows the last line.
    """
    if not text:
        return []
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        lines[-1] += NO_NEWLINE_END
    return lines


def join_lines(lines: Sequence[str]) -> str:
    """Return the text of lines that `split_lines` returned. Every line but the last gets a line feed."""
    text = "".join(f"{line.removesuffix(NO_NEWLINE_END)}\n" for line in lines)
    return text.removesuffix("\n") if lines and lines[-1].endswith(NO_NEWLINE_END) else text


def find_changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Return the changed ranges of lines, in order."""
    merged: list[Change] = []
    for change in _compare(old, new, 0, len(old), 0, len(new)):
        if merged and merged[-1].a2 == change.a1 and merged[-1].b2 == change.b1:
            change = Change(merged[-1].a1, change.a2, merged[-1].b1, change.b2)
            merged.pop()
        merged.append(change)
    return merged


def diff_lines(before: str, after: str, context: int = CONTEXT_LINES) -> LineDiff:
    """Return hunks with `context` lines around each change, and the numbers of lines added and removed."""
    old, new = split_lines(before), split_lines(after)
    return format_changes(old, new, find_changes(old, new), context)


def format_changes(
    old: Sequence[str], new: Sequence[str], all_changes: Sequence[Change], context: int = CONTEXT_LINES
) -> LineDiff:
    """Return the diff with these changes between two lists of lines, as `diff_lines` does."""
    lines: list[str] = []
    for group in group_changes(all_changes, context):
        lines.extend(_format_hunk(old, new, group, context))
    return LineDiff("\n".join(lines) + "\n" if lines else "", *_count_lines(all_changes))


def count_changes(before: str, after: str) -> tuple[int, int]:
    """Return (added, removed): the numbers of lines, counted as in `diff_lines`."""
    return count_line_changes(split_lines(before), split_lines(after))


def count_line_changes(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Return (added, removed): the numbers of lines that differ between two lists of lines."""
    return _count_lines(find_changes(before, after))


def _count_lines(all_changes: Sequence[Change]) -> tuple[int, int]:
    added = sum(change.b2 - change.b1 for change in all_changes)
    return added, sum(change.a2 - change.a1 for change in all_changes)


def _compare(old: Sequence[str], new: Sequence[str], a1: int, a2: int, b1: int, b2: int) -> Iterator[Change]:
    # Most of a file is unchanged. Without the equal lines at both ends, the rest is often small enough for an exact
    # comparison, whose time grows with the product of the line counts.
    while a1 < a2 and b1 < b2 and old[a1] == new[b1]:
        a1, b1 = a1 + 1, b1 + 1
    while a1 < a2 and b1 < b2 and old[a2 - 1] == new[b2 - 1]:
        a2, b2 = a2 - 1, b2 - 1
    if a1 == a2 and b1 == b2:
        return
    if a1 == a2 or b1 == b2:
        yield Change(a1, a2, b1, b2)
        return
    if (a2 - a1) * (b2 - b1) <= EXACT_LIMIT:
        yield from _compare_exactly(old, new, a1, a2, b1, b2)
        return
    anchors = _find_anchors(old, new, a1, a2, b1, b2)
    if not anchors:
        yield Change(a1, a2, b1, b2)
        return
    # The lines that occur once in both texts divide a large block into smaller ones.
    for a, b in anchors:
        yield from _compare(old, new, a1, a, b1, b)
        a1, b1 = a + 1, b + 1
    yield from _compare(old, new, a1, a2, b1, b2)


def _compare_exactly(
    old: Sequence[str], new: Sequence[str], a1: int, a2: int, b1: int, b2: int
) -> Iterator[Change]:
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old[a1:a2], new[b1:b2]).get_opcodes():
        if tag != "equal":
            yield Change(a1 + i1, a1 + i2, b1 + j1, b1 + j2)


def _find_anchors(
    old: Sequence[str], new: Sequence[str], a1: int, a2: int, b1: int, b2: int
) -> list[tuple[int, int]]:
    """Return index pairs (old, new) of equal lines, in rising order. Each line must be unique in both texts."""
    old_counts = Counter(old[a1:a2])
    new_counts = Counter(new[b1:b2])
    new_positions = {new[j]: j for j in range(b1, b2) if new_counts[new[j]] == 1}
    pairs = [
        (i, new_positions[old[i]])
        for i in range(a1, a2)
        if old_counts[old[i]] == 1 and old[i] in new_positions
    ]
    # Longest increasing subsequence (patience sorting): `tails[k]` ends the best run of length k + 1.
    tails: list[int] = []
    tail_of: list[int] = []
    previous: list[int] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(tails, j)
        previous.append(tail_of[length - 1] if length else -1)
        if length == len(tails):
            tails.append(j)
            tail_of.append(index)
        else:
            tails[length] = j
            tail_of[length] = index
    run: list[tuple[int, int]] = []
    index = tail_of[-1] if tail_of else -1
    while index >= 0:
        run.append(pairs[index])
        index = previous[index]
    return run[::-1]


def group_changes(all_changes: Sequence[Change], context: int = CONTEXT_LINES) -> Iterator[list[Change]]:
    """Return the changes of each hunk, in order."""
    group: list[Change] = []
    for change in all_changes:
        if group and change.a1 - group[-1].a2 > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _format_hunk(old: Sequence[str], new: Sequence[str], group: Sequence[Change], context: int) -> list[str]:
    first, last = group[0], group[-1]
    lead = min(context, first.a1)
    trail = min(context, len(old) - last.a2)
    a1, a2, b1, b2 = first.a1 - lead, last.a2 + trail, first.b1 - lead, last.b2 + trail
    lines = [f"@@ -{_format_range(a1, a2)} +{_format_range(b1, b2)} @@"]
    position = a1
    for change in group:
        lines += [" " + line for line in old[position : change.a1]]
        lines += ["-" + line for line in old[change.a1 : change.a2]]
        lines += ["+" + line for line in new[change.b1 : change.b2]]
        position = change.a2
    return lines + [" " + line for line in old[position:a2]]


def _format_range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def split_hunks(diff: str) -> list[str]:
    """Split a unified diff into its hunks, and drop the file header."""
    starts = [*(match.start() for match in _HUNK_HEAD.finditer(diff)), len(diff)]
    return [diff[start:end] for start, end in pairwise(starts)]


def first_line(hunk: str) -> int:
    """Return the number of the hunk's first line in the newer text, counted from 1."""
    head = _HUNK_HEAD.match(hunk)
    return max(1, int(head["new"])) if head else 1


def hunk_sides(hunk: str) -> tuple[list[str], list[str]]:
    """Return the hunk's lines before and after the change, in the form of `split_lines`."""
    sides: tuple[list[str], list[str]] = [], []
    last: tuple[list[str], ...] = ()
    for line in hunk.removesuffix("\n").split("\n")[1:]:
        if line == NO_NEWLINE:
            for side in last:
                side[-1] += NO_NEWLINE_END
            continue
        last = sides if line[:1] in ("", " ") else (sides[line[0] == "+"],)
        for side in last:
            side.append(line[1:])
    return sides


def drop_line_end_returns(diff: str) -> str:
    """Remove the carriage returns from a file's diff if all lines in the diff end with CR LF."""
    if "\r\n" not in diff:
        return diff
    lines = diff.split("\n")
    ended = [
        index
        for index, (line, following) in enumerate(pairwise(lines))
        if line[:1] in (" ", "+", "-") and following != NO_NEWLINE
    ]
    if not all(lines[index].endswith("\r") for index in ended):
        return diff
    for index in ended:
        lines[index] = lines[index].removesuffix("\r")
    return "\n".join(lines)
