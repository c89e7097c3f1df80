"""A unified diff as rows: line numbers, a column of signs, code in colours, changed words emphasised.

Invariant: every line of the diff is one logical row, and no difference is shown only by colour.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Final, Literal

from tui_agent.folds.text.line_diff import drop_line_end_returns
from tui_agent.folds.text.redaction_placeholders import note_hidden_differences
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.style import TEXT_COLUMN, Look
from tui_agent.tui.transcript.styled_rows import DECOR, LITERAL, Row, TextRun, restyle, width_of, wrap
from tui_agent.tui.transcript.syntax_highlighting import Token, color_tokens, lexer_for, tokens
from tui_agent.tui.untrusted_text import clean, split_cells, width

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_WORDS: Final = re.compile(r"\w+|\s+|.")
_MIN_SIMILARITY: Final = 0.5
"""Changed words are marked only if at least this part of the longer line is unchanged."""
_MAX_LINE_CHARS: Final = 4_000
"""Maximum number of characters to draw per line. A note counts the hidden characters."""


@dataclass(slots=True)
class DiffLine:
    """One line of a diff.

    `changed`: bounds of the words that differ between a removed line and its replacement.
    """

    sign: Literal[" ", "-", "+", "@"]
    number: int
    text: str
    changed: tuple[tuple[int, int], ...] = ()


def parse_diff(diff: str, *, reveal: bool = True) -> list[DiffLine]:
    """Parse a unified diff (hunks only) into numbered lines with changed words marked.

    `reveal`: True to replace invisible characters by code points such as `<U+202E>`.
    """
    lines: list[DiffLine] = []
    old = new = 1
    for raw in drop_line_end_returns(note_hidden_differences(diff)).removesuffix("\n").split("\n"):
        line = raw[:1] + clean(raw[1:], reveal=reveal).replace("\n", " ")
        if hunk := _HUNK.match(line):
            old, new = int(hunk[1]), int(hunk[2])
            if lines:
                lines.append(DiffLine("@", 0, ""))
        elif line.startswith("-"):
            lines.append(DiffLine("-", old, line[1:]))
            old += 1
        elif line.startswith("+"):
            lines.append(DiffLine("+", new, line[1:]))
            new += 1
        elif not line.startswith("\\") and (line or lines):
            lines.append(DiffLine(" ", new, line[1:]))
            old, new = old + 1, new + 1
    _mark_changes(lines)
    return lines


def diff_rows(lines: Sequence[DiffLine], path: str, look: Look, *, dim: bool = False) -> list[Row]:
    """Return the rows of a parsed diff.

    `dim`: True for a denied change, which is drawn in the colour of hints.
    """
    # The old and the new version are lexed apart, because each is consistent code only without the other.
    lexer = lexer_for("", path)
    after = iter(tokens([line.text for line in lines if line.sign in " +"], lexer))
    before = iter(tokens([line.text for line in lines if line.sign == "-"], lexer))
    digits = max((len(str(line.number)) for line in lines), default=1)
    rows: list[Row] = []
    for line in lines:
        line_tokens = [] if line.sign == "@" else next(before if line.sign == "-" else after)
        rows.extend(_code_rows(line, line_tokens, digits, look, dim))
    return rows


def _code_rows(line: DiffLine, line_tokens: Sequence[Token], digits: int, look: Look, dim: bool) -> list[Row]:
    ground = _ground(line, dim)
    if dim:
        line_tokens = [(line.text, "t3")] if line.text else []
    runs = color_tokens(line_tokens, lambda role: look.style(role, ground), LITERAL)
    if line.changed and not dim:
        kind = "add" if line.sign == "+" else "del"
        runs = restyle(runs, line.changed, look.style(f"diff-{kind}-text", f"diff-{kind}-strong"))  # type: ignore[arg-type]
    first = _head(line, digits, look, dim)
    room = max(look.right - width_of(first), 3)
    cells = look.style("t1", ground)
    rest = [look.gutter(), TextRun(" " * (width_of(first) - TEXT_COLUMN + 2), cells)]
    rows: list[Row] = []
    for part in wrap(_shorten_line(runs, look), room, rest_room=room - 2, words=True):
        shown = [*(rest if rows else first), *part]
        shown.append(TextRun(" " * max(look.right - width_of(shown), 0), cells))
        rows.append(Row(shown, look.ground, joined=bool(rows)))
    return rows


def _head(line: DiffLine, digits: int, look: Look, dim: bool) -> list[TextRun]:
    ground = _ground(line, dim)
    number = (look.symbols.dot if line.sign == "@" else str(line.number)).rjust(max(digits + 2, 4))
    role: Role = "error" if line.sign == "-" else "success" if line.sign == "+" else "t3"
    sign = line.sign if line.sign in "+-" else " "
    return [
        look.gutter(),
        TextRun(f"{number} ", look.style("t3", ground)),
        TextRun(sign, look.style("t3" if dim else role, ground, bold=not dim), LITERAL),
        TextRun(" ", look.style("t1", ground), DECOR),
    ]


def _ground(line: DiffLine, dim: bool) -> Role:
    if dim:
        return "sunk"
    return "diff-add" if line.sign == "+" else "diff-del" if line.sign == "-" else "sunk"


def _shorten_line(runs: Sequence[TextRun], look: Look) -> list[TextRun]:
    short: list[TextRun] = []
    room = _MAX_LINE_CHARS
    for run in runs:
        if len(run.text) > room:
            short.append(run._replace(text=split_cells(run.text, room)[0]))
            short.append(
                TextRun(f"  {format_count(len(run.text) - room, 'more character')}", look.style("t3"))
            )
            break
        short.append(run)
        room -= len(run.text)
    return short


def _mark_changes(lines: Sequence[DiffLine]) -> None:
    """Pair each removed line with its replacement, and mark the words that differ."""
    runs = [(sign, list(run)) for sign, run in groupby(lines, key=lambda line: line.sign)]
    for (sign, removed), (next_sign, added) in pairwise(runs):
        if sign == "-" and next_sign == "+":
            # In a longer run, the lines without a partner have no changed words.
            for old, new in zip(removed, added, strict=False):
                _compare(old, new)


def _compare(old: DiffLine, new: DiffLine) -> None:
    if max(width(old.text), width(new.text)) > 400:
        return  # The time of a comparison grows with the square of the length.
    before, after = _WORDS.findall(old.text), _WORDS.findall(new.text)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    same = sum(
        len("".join(before[block.a : block.a + block.size]).strip())
        for block in matcher.get_matching_blocks()
    )
    longest = max(len(old.text.strip()), len(new.text.strip()), 1)
    if same / longest < _MIN_SIMILARITY:
        return
    old.changed = _bounds(before, [(tag, a, b) for tag, a, b, _, _ in matcher.get_opcodes()])
    new.changed = _bounds(after, [(tag, c, d) for tag, _, _, c, d in matcher.get_opcodes()])


def _bounds(words: Sequence[str], ranges: Sequence[tuple[str, int, int]]) -> tuple[tuple[int, int], ...]:
    offsets = [0]
    for word in words:
        offsets.append(offsets[-1] + len(word))
    return tuple((offsets[low], offsets[high]) for tag, low, high in ranges if tag != "equal" and low < high)
