"""Output of programs as rows: colours of SGR sequences kept where they can be read, everything else made harmless.

Invariant: a colour is either one of the theme's roles or a foreign one with enough contrast; backgrounds, blinking,
hidden text and every other control sequence are dropped; where a link leads stands behind its words. A line that was
overwritten (carriage return) shows its last form.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.color import Color as RichColor
from rich.style import Style

from tui_agent.tui.links import address_of
from tui_agent.tui.text import clean, clean_line
from tui_agent.tui.theme.theme import MIN_CONTRAST, Role, contrast
from tui_agent.tui.transcript.code import tab_pieces
from tui_agent.tui.transcript.rows import LITERAL, Row, Run, frame, width_of, wrap
from tui_agent.tui.transcript.style import Look

TAB: Final = 8
LINE_LIMIT: Final = 4_000
"""Characters of one line that are drawn; the rest is counted."""

_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]{0,64})m")
_LINK = re.compile(
    r"(?:\x1b\]|\x9d)8;[^;\x07\x1b\x9c]{0,512}+;([^\x07\x1b\x9c]{0,4096}+)(?:\x07|\x1b\\|\x9c)"
)
_NAMED: Final[tuple[Role, ...]] = ("t3", "error", "success", "warning", "accent", "keyword", "function", "t2")


@dataclass(frozen=True, slots=True)
class Pen:
    """What SGR sequences have switched on. `color` is None, 0 to 255 or `#rrggbb`."""

    color: int | str | None = None
    bold: bool = False
    underline: bool = False


def output_lines(text: str, look: Look, role: Role = "t2") -> list[list[Run]]:
    """The lines of a program's output as runs."""
    pen = Pen()
    lines: list[list[Run]] = []
    for raw in text.removesuffix("\n").split("\n"):
        runs, pen = _line(_last_form(raw), pen, look, role)
        lines.append(runs)
    return lines


def output_rows(
    lines: Sequence[Sequence[Run]], first: Sequence[Run], rest: Sequence[Run], look: Look
) -> list[Row]:
    """Rows behind a prefix, over the full width, continuations indented by 2."""
    rows: list[Row] = []
    room = max(look.right - width_of(rest), 3)
    deeper = [*rest, Run("  ", look.ground)]
    for runs in lines:
        ahead = first if not rows else rest
        rows.extend(frame(wrap(runs, room, rest_room=room - 2), look.ground, ahead, deeper))
    return rows


def addressed(raw: str) -> str:
    """A line with each link's address behind its words, and no link. Words that are the address stand alone."""
    if "8;" not in raw:
        return raw
    out: list[str] = []
    at, words, target = 0, 0, ""
    for found in _LINK.finditer(raw):
        out.append(raw[at : found.start()])
        if target:
            shown = address_of(target).shown
            said = clean_line("".join(out[words:]))
            out.append("" if said == shown else f" ({shown})")
        at, words, target = found.end(), len(out), found[1]
    return "".join([*out, raw[at:], f" ({address_of(target).shown})" if target else ""])


def _last_form(raw: str) -> str:
    raw = raw.removesuffix("\r")
    return raw[raw.rfind("\r") + 1 :] if "\r" in raw else raw


def _line(raw: str, pen: Pen, look: Look, role: Role) -> tuple[list[Run], Pen]:
    runs: list[Run] = []
    raw = addressed(raw)
    shown, more = raw[:LINE_LIMIT], len(raw) - LINE_LIMIT
    column = 0
    for piece, codes in _pieces(shown):
        if codes is not None:
            pen = _switch(pen, codes)
            continue
        text = clean(piece.replace("\t", " " * (TAB - column % TAB), 1) if piece == "\t" else piece, tab=TAB)
        text = text.replace("\n", " ")
        if text:
            column += len(text)
            runs.append(Run(text, _style(pen, look, role), LITERAL))
    if more > 0:
        runs.append(Run(f"  {more} more characters", look.s("t3")))
    return runs, pen


def _pieces(raw: str) -> Iterator[tuple[str, str | None]]:
    """Texts (with None) and SGR parameters (with an empty text), in order; each tab alone."""
    at = 0
    if "\x1b" in raw or "\x9b" in raw:
        for match in _SGR.finditer(raw):
            yield from ((piece, None) for piece in tab_pieces(raw[at : match.start()]))
            yield "", match[1]
            at = match.end()
    yield from ((piece, None) for piece in tab_pieces(raw[at:]))


def _switch(pen: Pen, codes: str) -> Pen:
    numbers = [int(code) if code else 0 for code in re.split("[;:]", codes)]
    color, bold, underline = pen.color, pen.bold, pen.underline
    index = 0
    while index < len(numbers):
        code = numbers[index]
        if code == 0:
            color, bold, underline = None, False, False
        elif code in (1, 22):
            bold = code == 1
        elif code in (4, 24):
            underline = code == 4
        elif 30 <= code <= 37 or 90 <= code <= 97:
            color = code - 30 if code < 90 else code - 82
        elif code == 39:
            color = None
        elif code in (38, 48):
            found, used = _extended(numbers[index + 1 :])
            color = found if code == 38 and found is not None else color
            index += used
        index += 1
    return Pen(color, bold, underline)


def _extended(rest: Sequence[int]) -> tuple[int | str | None, int]:
    """A colour of 256 or of 16 million, and how many numbers it took."""
    if len(rest) >= 2 and rest[0] == 5:
        return min(rest[1], 255), 2
    if len(rest) >= 4 and rest[0] == 2:
        red, green, blue = (min(value, 255) for value in rest[1:4])
        return f"#{red:02x}{green:02x}{blue:02x}", 4
    return None, len(rest)


def _style(pen: Pen, look: Look, role: Role) -> Style:
    if pen.color is None:
        return look.s(role, bold=pen.bold, underline=pen.underline)
    if isinstance(pen.color, int) and pen.color < 16:
        return look.s(_NAMED[pen.color % 8], bold=pen.bold, underline=pen.underline)
    if look.palette.mode != "full":
        return look.s(role, bold=pen.bold, underline=pen.underline)
    return _foreign(pen, look) or look.s(role, bold=pen.bold, underline=pen.underline)


def _foreign(pen: Pen, look: Look) -> Style | None:
    color = RichColor.from_ansi(pen.color) if isinstance(pen.color, int) else RichColor.parse(str(pen.color))
    shade = color.get_truecolor().hex
    if contrast(shade, look.palette.theme.colors["s0"]) < MIN_CONTRAST:
        return None
    return look.ground + Style(color=shade, bold=pen.bold or None, underline=pen.underline or None)
