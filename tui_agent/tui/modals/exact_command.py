"""A command exactly as it runs: every character can be read from the rows.

Invariant: nothing is left out or shortened, and invisible characters are drawn as signs such as `<U+202E>`.
"""

import re
import shlex
from typing import Final, NamedTuple

from textual.strip import Strip

from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.unicode_text import reveal_invisible
from tui_agent.tui.theme.theme import Looks
from tui_agent.tui.untrusted_text import split_cells
from tui_agent.tui.widgets.rows import Part, Pen

MIN_CELLS_FOR_MARGIN: Final = 36
"""On screens narrower than this, in cells, a command has no margin."""
MAX_INNER_BLANKS: Final = 8
"""Maximum number of adjacent blanks inside a line to draw as blanks. A longer run becomes a sign."""
MAX_INDENT: Final = 40
"""Maximum number of blanks at the start of a line to draw as blanks. A longer run becomes a sign."""
MAX_BREAKS: Final = 3
"""Maximum number of adjacent line breaks to draw as line breaks. A longer run becomes a sign."""
CHARACTERS_PER_CELL: Final = 6
"""Maximum number of characters in one cell: a letter and its combining marks."""

_CUT: Final = " … [cut: "
"""Marks where the log shortened a text; the text's original length follows."""
# The possessive quantifiers (`++`) keep the time linear in the length of the text, which can be hostile.
_SIGN = re.compile(r"(<(?:U\+[0-9A-F]{4,6}|tab|(?:\d+ )?blanks?|\d+ line breaks)>)")
_END = re.compile(r"(?<! ) ++$")
_MANY_BREAKS = re.compile(rf"(\n{{{MAX_BREAKS + 1},}}+)")


def command_text(runs: RunEffect) -> str:
    """Return the command in shell syntax."""
    return runs.script or shlex.join(runs.argv)


def is_command(text: str, runs: RunEffect) -> bool:
    """Return True if `text` is exactly the command line of `runs`."""
    # The log has only the beginning of a very long command, so only this beginning is compared.
    if not runs.argv:
        known, cut, _ = runs.script.rpartition(_CUT)
        return text == runs.script or (bool(cut) and text.startswith(known))
    try:
        return tuple(shlex.split(text)) == runs.argv
    except ValueError:
        return False


class ScriptLine(NamedTuple):
    """A line of a text, and the line's number from 1."""

    number: int
    text: str


def exact_lines(text: str, room: int) -> list[ScriptLine]:
    """Return the lines of a text with signs for invisible characters, e.g. `<U+202E>`.

    `room`: width of a row in cells. A whole row of blanks is replaced by a sign such as `<12 blanks>`.
    """
    lines: list[ScriptLine] = []
    number = 1
    for index, piece in enumerate(_MANY_BREAKS.split(reveal_invisible(text, tabs=True))):
        if index % 2:
            lines.append(ScriptLine(number, f"<{len(piece)} line breaks>"))
            number += len(piece) - 1
            continue
        for line in piece.split("\n"):
            lines.append(ScriptLine(number, _count_blanks(line, max(0, room - 2))))
            number += 1
    return lines


def _count_blanks(line: str, limit: int) -> str:
    inner, indent = min(MAX_INNER_BLANKS, limit), min(MAX_INDENT, limit)
    line = _END.sub(blanks_sign, line)
    line = re.sub(rf"(?<=[^ ]) {{{inner + 1},}}+", blanks_sign, line)
    return re.sub(rf"^ {{{indent + 1},}}+", blanks_sign, line)


def blanks_sign(blanks: re.Match[str]) -> str:
    """Return the sign for a run of blanks, such as `<3 blanks>`."""
    count = len(blanks[0])
    return "<blank>" if count == 1 else f"<{count} blanks>"


def wrap_exactly(line: str, room: int) -> list[str]:
    """Split a line into pieces of at most `room` cells, without losing a character."""
    pieces: list[str] = []
    start, total = 0, len(line)
    while start < total:
        window = line[start : start + (room + 1) * CHARACTERS_PER_CELL]
        head = split_cells(window, room)[0] or window[:1]
        end = start + len(head)
        if end < total and (line[end] != " " or head.endswith(" ")):
            end = start + _break_point(head)
        pieces.append(line[start:end])
        start = end
    return pieces or [""]


def _break_point(head: str) -> int:
    """Return the number of characters of `head` that stay on the current row.

    Break at the last blank in the second half of `head`; if there is none, at the end.
    """
    near = head.rfind(" ", len(head) // 2)
    bare = len(head[: near + 1].rstrip(" ")) if near >= 0 else 0
    return bare or len(head.rstrip(" ")) or len(head)


def command_rows(
    text: str, looks: Looks, cells: int, *, edges: bool = True, bold: bool = True
) -> list[Strip]:
    """Draw a command on the `sunk` background; `edges` adds an empty row above and below."""
    pen = Pen(looks, "sunk")
    is_narrow = cells < MIN_CELLS_FOR_MARGIN
    breaks = text.count("\n")
    digits = len(str(breaks + 1)) if breaks else 0
    margin = 0 if is_narrow else 2
    lead = margin + (digits + (1 if is_narrow else 2) if digits else 0)
    room = max(1, cells - lead - 2 - margin)
    rows: list[Strip] = []
    for line in exact_lines(text, room):
        for index, piece in enumerate(wrap_exactly(line.text, room)):
            number = str(line.number).rjust(digits) if digits and index == 0 else ""
            left = [pen.part((" " * margin + number).ljust(lead), "t3"), pen.part("  " if index else "")]
            rows.append(pen.line(cells, [*left, *_with_signs(piece, pen, bold=bold)]))
    edge = [pen.line(cells, [])] if edges else []
    return [*edge, *rows, *edge]


def _with_signs(piece: str, pen: Pen, *, bold: bool) -> list[Part]:
    return [
        pen.part(text, "warning") if index % 2 else pen.part(text, bold=bold)
        for index, text in enumerate(_SIGN.split(piece))
        if text
    ]
