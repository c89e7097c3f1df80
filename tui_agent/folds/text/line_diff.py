"""What changed between two texts, as hunks of a unified diff and counts of lines.

Invariant: pure, and its work is bounded: equal ends are cut off, lines that are unique on both sides split the rest,
and what is then still too big counts as replaced.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT = 3
EXACT_LIMIT = 1_000_000
"""Product of line counts up to which the two sides are compared line by line."""
NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class LineDiff:
    """`text` holds the hunks (no file header), empty when nothing changed; `added` and `removed` count lines."""

    text: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Change:
    """Lines `a1:a2` of the old text became lines `b1:b2` of the new one."""

    a1: int
    a2: int
    b1: int
    b2: int


def split_lines(text: str) -> list[str]:
    """The lines without their line feed (a carriage return stays); a last line without one keeps a marker."""
    if not text:
        return []
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        lines[-1] += "\n" + NO_NEWLINE
    return lines


def changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """The changed ranges, in order, not touching one another."""
    found: list[Change] = []
    for change in _compare(old, new, 0, len(old), 0, len(new)):
        if found and found[-1].a2 == change.a1 and found[-1].b2 == change.b1:
            change = Change(found[-1].a1, change.a2, found[-1].b1, change.b2)
            found.pop()
        found.append(change)
    return found


def line_diff(before: str, after: str, context: int = CONTEXT) -> LineDiff:
    """Hunks with `context` lines around each change, and how many lines were added and removed."""
    old, new = split_lines(before), split_lines(after)
    found = changes(old, new)
    added = sum(change.b2 - change.b1 for change in found)
    removed = sum(change.a2 - change.a1 for change in found)
    out: list[str] = []
    for group in _grouped(found, context):
        out.extend(_hunk(old, new, group, context))
    return LineDiff("\n".join(out) + "\n" if out else "", added, removed)


def count_changes(before: str, after: str) -> tuple[int, int]:
    """(added, removed) lines, as `line_diff` counts them."""
    found = changes(split_lines(before), split_lines(after))
    return sum(change.b2 - change.b1 for change in found), sum(change.a2 - change.a1 for change in found)


def _compare(old: Sequence[str], new: Sequence[str], a1: int, a2: int, b1: int, b2: int) -> Iterator[Change]:
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
        yield from _exact(old, new, a1, a2, b1, b2)
        return
    anchors = _anchors(old, new, a1, a2, b1, b2)
    if not anchors:
        yield Change(a1, a2, b1, b2)
        return
    for a, b in anchors:
        yield from _compare(old, new, a1, a, b1, b)
        a1, b1 = a + 1, b + 1
    yield from _compare(old, new, a1, a2, b1, b2)


def _exact(old: Sequence[str], new: Sequence[str], a1: int, a2: int, b1: int, b2: int) -> Iterator[Change]:
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old[a1:a2], new[b1:b2]).get_opcodes():
        if tag != "equal":
            yield Change(a1 + i1, a1 + i2, b1 + j1, b1 + j2)


def _anchors(
    old: Sequence[str], new: Sequence[str], a1: int, a2: int, b1: int, b2: int
) -> list[tuple[int, int]]:
    """Pairs of lines that occur once on each side, in the longest run that rises on both sides."""
    once_old = Counter(old[a1:a2])
    once_new = Counter(new[b1:b2])
    where = {new[j]: j for j in range(b1, b2) if once_new[new[j]] == 1}
    pairs = [(i, where[old[i]]) for i in range(a1, a2) if once_old[old[i]] == 1 and old[i] in where]
    tails: list[int] = []
    tail_of: list[int] = []
    previous: list[int] = []
    for index, (_, j) in enumerate(pairs):
        place = bisect_left(tails, j)
        previous.append(tail_of[place - 1] if place else -1)
        if place == len(tails):
            tails.append(j)
            tail_of.append(index)
        else:
            tails[place] = j
            tail_of[place] = index
    run: list[tuple[int, int]] = []
    index = tail_of[-1] if tail_of else -1
    while index >= 0:
        run.append(pairs[index])
        index = previous[index]
    return run[::-1]


def _grouped(found: Sequence[Change], context: int) -> Iterator[list[Change]]:
    group: list[Change] = []
    for change in found:
        if group and change.a1 - group[-1].a2 > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[Change], context: int) -> list[str]:
    first, last = group[0], group[-1]
    lead = min(context, first.a1)
    trail = min(context, len(old) - last.a2)
    a1, a2, b1, b2 = first.a1 - lead, last.a2 + trail, first.b1 - lead, last.b2 + trail
    lines = [f"@@ -{_range(a1, a2)} +{_range(b1, b2)} @@"]
    at = a1
    for change in group:
        lines += [" " + line for line in old[at : change.a1]]
        lines += ["-" + line for line in old[change.a1 : change.a2]]
        lines += ["+" + line for line in new[change.b1 : change.b2]]
        at = change.a2
    return lines + [" " + line for line in old[at:a2]]


def _range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"
