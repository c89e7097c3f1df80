"""The hunks of a unified diff, and the undoing of one hunk in a possibly newer text.

Invariant: a hunk is reverted only where all lines of the hunk, including context lines, match the text.
"""

import re
from itertools import islice, pairwise
from typing import Final

from tui_agent.folds.text.line_diff import NO_NEWLINE, split_lines

_HEAD: Final = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@$", re.MULTILINE)


def split_hunks(diff: str) -> list[str]:
    """Split a unified diff into its hunks, and drop the file header."""
    starts = [*(match.start() for match in _HEAD.finditer(diff)), len(diff)]
    return [diff[start:end] for start, end in pairwise(starts)]


def first_line(hunk: str) -> int:
    """Return the number of the hunk's first line in the newer text, counted from 1."""
    head = _HEAD.match(hunk)
    return max(1, int(head[1])) if head else 1


def hunk_sides(hunk: str) -> tuple[list[str], list[str]]:
    """Return the hunk's lines before and after the change, in the form of `split_lines`."""
    sides: tuple[list[str], list[str]] = [], []
    last: tuple[list[str], ...] = ()
    for line in hunk.removesuffix("\n").split("\n")[1:]:
        if line == NO_NEWLINE:
            for side in last:
                side[-1] += f"\n{NO_NEWLINE}"
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


def revert_hunk(text: str, hunk: str) -> str | None:
    """Return `text` with one hunk reverted, or None if the hunk's place is missing or not unique."""
    old, new = hunk_sides(hunk)
    lines, start = split_lines(text), first_line(hunk) - 1
    if not new:
        places = [] if lines else [0]
    elif lines[start : start + len(new)] == new:
        places = [start]
    else:
        starts = (index for index, line in enumerate(lines) if line == new[0])
        places = list(islice((index for index in starts if lines[index : index + len(new)] == new), 2))
    if len(places) != 1:
        return None
    reverted = [*lines[: places[0]], *old, *lines[places[0] + len(new) :]]
    end = f"\n{NO_NEWLINE}"
    if any(line.endswith(end) for line in reverted[:-1]):
        return None
    whole = "".join(f"{line}\n" for line in reverted)
    return whole.removesuffix(f"{end}\n") if reverted and reverted[-1].endswith(end) else whole
