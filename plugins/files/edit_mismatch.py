"""Explains to the model why edit_file did not find old_text, and shows the most similar text in the file.

Invariant: at most `MAX_LINES` lines of the file are compared, each cut at `MAX_WIDTH` characters.
"""

import heapq
import re
from collections import defaultdict
from collections.abc import Callable
from difflib import SequenceMatcher

from tui_agent.plugin_api import format_count

MAX_LINES = 20_000
MAX_WIDTH = 300
FUZZY_LIMIT = 2_000
MAX_PART_COMPARISONS = 40
"""Maximum number of lines that are compared in detail with old_text to find a similar part."""
MAX_GROUPS = 64
"""Maximum number of three-character pieces of old_text to look for.

The lines that contain the most pieces are compared in detail.
"""
MIN_SIMILARITY = 0.6
MIN_PART_SIMILARITY = 0.8
"""Minimum similarity of old_text and a part of a line. A lower one is often that of a single shared word."""
SHOWN_LINES = 12
_NUMBERED = re.compile(r"^\s*\d+(\t|: |\|)")
_LOOKALIKES = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u00a0": " ", "…": "..."}
)

_NORMALISATIONS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.rstrip, "spaces at the end of a line differ."),
    (str.strip, ""),
    (lambda line: " ".join(line.split()), ""),
    (lambda line: line.translate(_LOOKALIKES).strip(), "quotes, dashes or special spaces differ."),
    (lambda line: line.strip().casefold(), "the letter case differs."),
)
"""Pairs of a function and a sentence. The function removes one kind of difference; the sentence names it."""
# The sentence is empty if the indentation can differ too: `_describe_indentation` then writes the sentence.


def explain_mismatch(text: str, old_text: str) -> str:
    """Explain to the model, in a few lines, how `old_text` differs from the most similar lines of `text`."""
    lines = [line.removesuffix("\r") for line in text.split("\n")][:MAX_LINES]
    old_lines = [line.removesuffix("\r") for line in old_text.split("\n")]
    if old_lines and old_lines[-1] == "" and len(old_lines) > 1:
        old_lines.pop()
    if all(_NUMBERED.match(line) for line in old_lines if line.strip()) and any(
        line.strip() for line in old_lines
    ):
        return "old_text begins with line numbers: remove the number and tab that read_file adds."
    start, reason = _find_nearest(lines, old_lines)
    if start is None:
        return "The file has nothing similar. Read it again."
    piece = lines[start : start + min(len(old_lines), SHOWN_LINES)]
    shown = "\n".join(f"{start + 1 + index}\t{line[:MAX_WIDTH]}" for index, line in enumerate(piece))
    place = f"line {start + 1}" if len(old_lines) == 1 else f"lines {start + 1}-{start + len(old_lines)}"
    return f"Closest match, {place}: {reason or _first_difference(lines, old_lines, start)}\n{shown}"


def _find_nearest(lines: list[str], old: list[str]) -> tuple[int | None, str]:
    for normalise, reason in _NORMALISATIONS:
        start = _find_block(list(map(normalise, lines)), list(map(normalise, old)))
        if start is not None:
            return start, reason or _describe_indentation(lines, old, start)
    return _find_similar(lines, old), ""


def _find_block(lines: list[str], old: list[str]) -> int | None:
    # The longest line is searched first, because few lines of the file are equal to it.
    key = max(range(len(old)), key=lambda row: len(old[row]))
    if not old[key]:
        return None
    for index, line in enumerate(lines):
        start = index - key
        if line == old[key] and start >= 0 and lines[start : start + len(old)] == old:
            return start
    return None


def _describe_indentation(lines: list[str], old: list[str], start: int) -> str:
    for index, line in enumerate(old):
        file_line = lines[start + index]
        if file_line == line:
            continue
        file_indent = file_line[: len(file_line) - len(file_line.lstrip())]
        old_indent = line[: len(line) - len(line.lstrip())]
        if file_indent != old_indent:
            return f"the indentation differs: line {start + 1 + index} begins with {_count_blanks(file_indent)}, old_text with {_count_blanks(old_indent)}."
        return f"the spaces differ in line {start + 1 + index}."
    return ""


def _count_blanks(text: str) -> str:
    if not text:
        return "no spaces"
    tabs, spaces = text.count("\t"), text.count(" ")
    counts = ((tabs, "tab"), (spaces, "space"))
    return " and ".join(format_count(count, noun) for count, noun in counts if count) or "other white space"


def _find_similar(lines: list[str], old: list[str]) -> int | None:
    """Return the index in `lines` of the block most similar to `old`, or None if nothing is similar."""
    rows = [(row, line.strip()[:MAX_WIDTH]) for row, line in enumerate(old[:SHOWN_LINES])]
    longest = max((line for _, line in rows), key=len)
    # A matcher prepares its second text once, so the second text stays, and each line of the file becomes the first.
    matcher = SequenceMatcher(None, "", longest)
    scores: defaultdict[int, float] = defaultdict(float)
    compared = 0
    for index, line in enumerate(lines):
        piece = line.strip()[:MAX_WIDTH]
        for row, part in rows:
            if len(part) > 2 and part in piece:
                scores[index - row] += len(part)
            elif part is longest and compared <= FUZZY_LIMIT:
                matcher.set_seq1(piece)
                # Both are fast, and never less than `ratio`, which is slow.
                if matcher.real_quick_ratio() > MIN_SIMILARITY and matcher.quick_ratio() > MIN_SIMILARITY:
                    compared += 1
                    similarity = matcher.ratio()
                    scores[index - row] += len(part) * similarity if similarity > MIN_SIMILARITY else 0
    start, score = max(scores.items(), key=lambda item: item[1], default=(0, 0.0))
    if score > MIN_SIMILARITY * len(longest):
        return max(start, 0)
    similar = _find_similar_part(lines, longest)
    return None if similar is None else max(similar - next(row for row, line in rows if line is longest), 0)


def _find_similar_part(lines: list[str], part: str) -> int | None:
    """Return the index of the line with the text most similar to `part`; None if nothing is similar."""
    pieces = [line.strip()[:MAX_WIDTH] for line in lines]
    stride = 1 + len(part) // MAX_GROUPS
    groups = {part[index : index + 3] for index in range(0, len(part) - 2, stride)}
    shared_counts = [sum(map(piece.__contains__, groups)) for piece in pieces]
    nearest = heapq.nlargest(MAX_PART_COMPARISONS, range(len(lines)), key=shared_counts.__getitem__)
    matcher = SequenceMatcher(None, "", part, autojunk=False)
    similarities = {
        index: _part_similarity(matcher, len(part), pieces[index])
        for index in nearest
        if shared_counts[index]
    }
    best = max(similarities, key=similarities.__getitem__, default=None)
    return None if best is None or similarities[best] < MIN_PART_SIMILARITY else best


def _part_similarity(matcher: SequenceMatcher[str], length: int, line: str) -> float:
    """Return how similar the most similar part of `line` is to the searched text: 0 (different) to 1 (equal).

    - `matcher`: has the searched text as its second sequence.
    - `length`: number of characters in the searched text.
    """
    matcher.set_seq1(line)
    match = matcher.find_longest_match()
    start = max(match.a - match.b, 0)
    matcher.set_seq1(line[start : start + length])
    return matcher.ratio()


def _first_difference(lines: list[str], old: list[str], start: int) -> str:
    for index, line in enumerate(old):
        file_line = lines[start + index] if start + index < len(lines) else None
        if file_line is None:
            return f"the file ends before line {index + 1} of old_text."
        if file_line != line:
            # The first lines of the file are shown below the sentence.
            in_file = f"the file has '{file_line[:MAX_WIDTH]}', " if index >= SHOWN_LINES else ""
            return f"line {start + 1 + index} differs: {in_file}old_text has '{line[:MAX_WIDTH]}'."
    return "the line breaks differ."
