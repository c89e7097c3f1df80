"""Why a text was not found: the place that comes nearest to it, and what differs there.

Invariant: bounded work: at most `MAX_LINES` lines are compared, each cut at `MAX_WIDTH`.
"""

import re
from collections.abc import Callable
from difflib import SequenceMatcher

MAX_LINES = 20_000
MAX_WIDTH = 300
FUZZY_LIMIT = 2_000
SHOWN_LINES = 12
_NUMBERED = re.compile(r"^\s*\d+(\t|: |\|)")
_LOOKALIKES = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u00a0": " ", "…": "..."}
)

_LIKENESSES: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.rstrip, "they differ in blanks at the end of a line."),
    (str.strip, ""),
    (lambda line: " ".join(line.split()), ""),
    (lambda line: line.translate(_LOOKALIKES).strip(), "they differ in quotes, dashes or special blanks."),
    (lambda line: line.strip().casefold(), "they differ in upper and lower case."),
)
"""Ways to look at a line that forgive something, and what they forgive (empty: `_indentation` tells)."""


def explain(text: str, wanted: str) -> str:
    """A few lines for the model: the nearest text with its line numbers, and the difference in words."""
    lines = [line.removesuffix("\r") for line in text.split("\n")][:MAX_LINES]
    old = [line.removesuffix("\r") for line in wanted.split("\n")]
    if old and old[-1] == "" and len(old) > 1:
        old.pop()
    if all(_NUMBERED.match(line) for line in old if line.strip()) and any(line.strip() for line in old):
        return "old_text begins with line numbers: leave out the number and the tab that read_file puts in front."
    at, reason = _nearest(lines, old)
    if at is None:
        return "Nothing in the file resembles it. Read the file again."
    piece = lines[at : at + min(len(old), SHOWN_LINES)]
    shown = "\n".join(f"{at + 1 + index}\t{line[:MAX_WIDTH]}" for index, line in enumerate(piece))
    return (
        f"Nearest are lines {at + 1}-{at + len(old)}: {reason or _first_difference(lines, old, at)}\n{shown}"
    )


def _nearest(lines: list[str], old: list[str]) -> tuple[int | None, str]:
    for alike, reason in _LIKENESSES:
        at = _block(list(map(alike, lines)), list(map(alike, old)))
        if at is not None:
            return at, reason or _indentation(lines, old, at)
    return _fuzzy(lines, old), ""


def _block(lines: list[str], old: list[str]) -> int | None:
    """Where `old` stands in `lines`, line by line; None where it does not, or where it is all blank."""
    key = max(range(len(old)), key=lambda index: len(old[index]))
    if not old[key]:
        return None
    for at, line in enumerate(lines):
        start = at - key
        if line == old[key] and start >= 0 and lines[start : start + len(old)] == old:
            return start
    return None


def _indentation(lines: list[str], old: list[str], at: int) -> str:
    for index, line in enumerate(old):
        there = lines[at + index]
        if there == line:
            continue
        has, wants = there[: len(there) - len(there.lstrip())], line[: len(line) - len(line.lstrip())]
        if has != wants:
            return f"the indentation differs: line {at + 1 + index} begins with {_blanks(has)}, old_text with {_blanks(wants)}."
        return f"the blanks differ in line {at + 1 + index}."
    return ""


def _blanks(text: str) -> str:
    if not text:
        return "no blanks"
    tabs, spaces = text.count("\t"), text.count(" ")
    words = [f"{tabs} tab{'s' * (tabs != 1)}"] if tabs else []
    words += [f"{spaces} space{'s' * (spaces != 1)}"] if spaces else []
    return " and ".join(words) or "other blanks"


def _fuzzy(lines: list[str], old: list[str]) -> int | None:
    """Where the longest line of `old` has its nearest likeness."""
    key = max(range(len(old)), key=lambda index: len(old[index].strip()))
    wanted = old[key].strip()[:MAX_WIDTH]
    if not wanted:
        return None
    matcher = SequenceMatcher(None, "", wanted)
    best, found = 0.6, None
    compared = 0
    for at, line in enumerate(lines):
        piece = line.strip()[:MAX_WIDTH]
        matcher.set_seq1(piece)
        if matcher.real_quick_ratio() <= best or matcher.quick_ratio() <= best:
            continue
        compared += 1
        ratio = matcher.ratio()
        if ratio > best:
            best, found = ratio, max(at - key, 0)
        if compared > FUZZY_LIMIT:
            break
    return found


def _first_difference(lines: list[str], old: list[str], at: int) -> str:
    for index, line in enumerate(old):
        there = lines[at + index] if at + index < len(lines) else None
        if there is None:
            return f"the file ends before old_text's line {index + 1}."
        if there != line:
            return f"line {at + 1 + index} differs: the file has {there[:MAX_WIDTH]!r}, old_text has {line[:MAX_WIDTH]!r}."
    return "the line breaks differ."
