"""A command exactly as it runs, in rows from which it can be read back letter by letter.

Invariant: nothing is left out, shortened or invisible. What cannot be seen stands as a sign (`<U+202E>`, `<tab>`,
`<40 blanks>`, `<300 line breaks>`), and what only reads like one has its `<` as a sign; no row of a line but its last
ends in a blank; where there are several lines each has its number, so that a row that goes on is told from a new line.
"""

import re
import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple

from rich.style import Style
from textual.strip import Strip

from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.unicode_text import reveal_invisible
from tui_agent.tui.text import take
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.rows import Part, row

NARROW: Final = 36
"""Cells; below it a command stands without a margin."""
BETWEEN: Final = 8
"""Blanks in a row within a line that are shown as they are."""
AHEAD: Final = 40
"""Blanks that a line may begin with."""
BREAKS: Final = 3
"""Line breaks in a row that are shown as empty lines."""

WINDOW: Final = 6
"""Characters that one cell takes at most: a letter and the marks that stand over it."""

_CUT: Final = " … [cut: "
"""Behind this the log says how long a text is that has no room in an event."""
_SIGN = re.compile(r"(<(?:U\+[0-9A-F]{4,6}|tab|(?:\d+ )?blanks?|\d+ line breaks)>)")
_END = re.compile(r"(?<! ) ++$")
_EDIT_END = re.compile(r"(?m)(?<=[^ \n]) ++$")
_MANY_BREAKS = re.compile(rf"\n{{{BREAKS + 1},}}+")


def command_text(runs: RunEffect) -> str:
    """What runs, as a shell would take it."""
    return runs.script or shlex.join(runs.argv)


def says(text: str, runs: RunEffect) -> bool:
    """Whether a text is the very command that runs; of a very long one only the beginning is known here."""
    if not runs.argv:
        known, cut, _ = runs.script.rpartition(_CUT)
        return text == runs.script or (bool(cut) and text.startswith(known))
    try:
        return tuple(shlex.split(text)) == runs.argv
    except ValueError:
        return False


class Line(NamedTuple):
    """A line of what is shown: its number in the text, from 1, and itself without a line feed."""

    number: int
    text: str


def exact_lines(text: str, room: int) -> list[Line]:
    """The lines of a text, everything unseen as a sign; `room` bounds how many blanks are shown as blanks."""
    lines: list[Line] = []
    number = 1
    for at, piece in enumerate(_parts(reveal_invisible(text, tabs=True))):
        if at % 2:
            lines.append(Line(number, f"<{len(piece)} line breaks>"))
            number += len(piece) - 1
            continue
        for one in piece.split("\n"):
            lines.append(Line(number, _blanks_counted(one, max(0, room - 2))))
            number += 1
    return lines


def _parts(text: str) -> Iterator[str]:
    """What stands between long runs of line breaks, and these."""
    at = 0
    for found in _MANY_BREAKS.finditer(text):
        yield text[at : found.start()]
        yield found[0]
        at = found.end()
    yield text[at:]


def _blanks_counted(line: str, most: int) -> str:
    between, ahead = min(BETWEEN, most), min(AHEAD, most)
    line = _END.sub(_counted, line)
    line = re.sub(rf"(?<=[^ ]) {{{between + 1},}}+", _counted, line)
    return re.sub(rf"^ {{{ahead + 1},}}+", _counted, line)


def _counted(found: re.Match[str]) -> str:
    count = len(found[0])
    return "<blank>" if count == 1 else f"<{count} blanks>"


def trailing_marked(diff: str) -> str:
    """A unified diff whose lines show the blanks that they end with."""
    return _EDIT_END.sub(_counted, diff)


def pieces(line: str, room: int) -> list[str]:
    """A line in pieces of at most `room` cells that give it back when they are joined, none but the last with a blank at
    its end: it is broken in front of blanks where there are some, else at the edge."""
    found: list[str] = []
    start, total = 0, len(line)
    while start < total:
        window = line[start : start + room * WINDOW + WINDOW]
        head = take(window, room)[0] or window[:1]
        end = start + len(head)
        if end < total and (line[end] != " " or head.endswith(" ")):
            end = start + _broken(head)
        found.append(line[start:end])
        start = end
    return found or [""]


def _broken(head: str) -> int:
    """How much of what fits stands on the row, where more follows that cannot begin the next one."""
    near = head.rfind(" ", len(head) // 2)
    bare = len(head[: near + 1].rstrip(" ")) if near >= 0 else 0
    return bare or len(head.rstrip(" ")) or len(head)


def command_rows(
    text: str, looks: Looks, cells: int, *, edges: bool = True, bold: bool = True
) -> list[Strip]:
    """A command on the sunk ground, with `edges` one empty row above and below."""
    rich = looks.palette.rich
    fill = rich("t1", "sunk")
    drawn = _Drawn(fill, rich("t1", "sunk", bold=bold), rich("warning", "sunk"), rich("t3", "sunk"))
    narrow = cells < NARROW
    breaks = text.count("\n")
    digits = len(str(breaks + 1)) if breaks else 0
    margin = 0 if narrow else 2
    lead = margin + (digits + (1 if narrow else 2) if digits else 0)
    room = max(1, cells - lead - 2 - margin)
    rows: list[Strip] = []
    for line in exact_lines(text, room):
        for at, piece in enumerate(pieces(line.text, room)):
            number = str(line.number).rjust(digits) if digits and at == 0 else ""
            left: list[Part] = [
                ((" " * margin + number).ljust(lead), drawn.number),
                ("  " if at else "", drawn.fill),
                *drawn.parts(piece),
            ]
            rows.append(row(cells, left, fill=fill))
    edge = [row(cells, [], fill=fill)] if edges else []
    return [*edge, *rows, *edge]


class _Drawn(NamedTuple):
    fill: Style
    said: Style
    sign: Style
    number: Style

    def parts(self, piece: str) -> list[Part]:
        """The piece with its signs in their own colour."""
        return [(one, self.sign if at % 2 else self.said) for at, one in enumerate(_SIGN.split(piece)) if one]
