"""Output of programs as rows; control sequences for colours (SGR) have an effect, all others have none.

Invariant: every colour is a role of the theme, or a program's own colour with enough contrast.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rich.color import Color as RichColor
from rich.style import Style

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.links import address_of
from tui_agent.tui.theme.theme import MIN_CONTRAST, Role, contrast
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.styled_rows import LITERAL, Row, TextRun, frame, width_of, wrap
from tui_agent.tui.transcript.syntax_highlighting import split_tabs
from tui_agent.tui.untrusted_text import clean, clean_line

TAB: Final = 8
LINE_LIMIT: Final = 4_000
"""Maximum number of characters to draw per line. A note counts the hidden characters."""

_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]{0,64})m")
_LINK = re.compile(
    r"(?:\x1b\]|\x9d)8;[^;\x07\x1b\x9c]{0,512}+;([^\x07\x1b\x9c]{0,4096}+)(?:\x07|\x1b\\|\x9c)"
)
_NAMED: Final[tuple[Role, ...]] = ("t3", "error", "success", "warning", "accent", "keyword", "function", "t2")
"""The roles for the eight named terminal colours, from black to white."""


@dataclass(frozen=True, slots=True)
class TextAttributes:
    """The current text style, as set by SGR sequences.

    `color`: None, 0 to 255, or `#rrggbb`.
    """

    color: int | str | None = None
    bold: bool = False
    underline: bool = False


def output_lines(text: str, look: Look) -> list[list[TextRun]]:
    """Convert a program's output to lines of runs."""
    pen = TextAttributes()
    lines: list[list[TextRun]] = []
    for raw in text.removesuffix("\n").split("\n"):
        # A carriage return lets a program overwrite the line, e.g. with progress. Only the last text is shown.
        last_form = raw.removesuffix("\r").rpartition("\r")[2]
        runs, pen = _line(show_addresses(last_form), pen, look)
        lines.append(runs)
    return lines


def output_rows(
    lines: Sequence[Sequence[TextRun]],
    prefix: Sequence[TextRun],
    look: Look,
    max_line_rows: int | None = None,
) -> list[Row]:
    """Wrap lines to rows of full width, each beginning with `prefix`.

    `max_line_rows`: maximum number of rows of a line; None for no limit. The last row of a cut line ends with an
    ellipsis, on which a click unfolds the entry.
    """
    room = max(look.right - width_of(prefix), 3)
    indented = [*prefix, TextRun("  ", look.ground)]
    rows: list[Row] = []
    for runs in lines:
        parts = wrap(runs, room, rest_room=room - 2)
        if max_line_rows is not None and len(parts) > max_line_rows:
            ellipsis = look.hint(look.symbols.ellipsis)._replace(src=LITERAL)
            last_room = room - (2 if max_line_rows > 1 else 0) - width_of([ellipsis])
            last = wrap(parts[max_line_rows - 1], last_room, fold=True)[0]
            parts = [*parts[: max_line_rows - 1], [*last, ellipsis]]
        rows.extend(frame(parts, look.ground, prefix, indented))
    return rows


def show_addresses(raw: str) -> str:
    """Insert each link's address after its text, unless both are the same."""
    if "8;" not in raw:
        return raw
    pieces: list[str] = []
    end, label_start, target = 0, 0, ""
    for link in _LINK.finditer(raw):
        pieces.append(raw[end : link.start()])
        if target:
            address = address_of(target).text
            label = clean_line("".join(pieces[label_start:]))
            pieces.append("" if label == address else f" ({address})")
        end, label_start, target = link.end(), len(pieces), link[1]
    return "".join([*pieces, raw[end:], f" ({address_of(target).text})" if target else ""])


def _line(raw: str, pen: TextAttributes, look: Look) -> tuple[list[TextRun], TextAttributes]:
    runs: list[TextRun] = []
    column = 0
    for piece, codes in _split_codes(raw[:LINE_LIMIT]):
        if codes is not None:
            pen = _apply_codes(pen, codes)
            continue
        text = clean(piece.replace("\t", " " * (TAB - column % TAB), 1) if piece == "\t" else piece, tab=TAB)
        text = text.replace("\n", " ")
        if text:
            column += len(text)
            runs.append(TextRun(text, _style(pen, look), LITERAL))
    if len(raw) > LINE_LIMIT:
        runs.append(TextRun(f"  {format_count(len(raw) - LINE_LIMIT, 'more character')}", look.style("t3")))
    return runs, pen


def _split_codes(raw: str) -> Iterator[tuple[str, str | None]]:
    """Split a line into texts and SGR codes: (text, None) or ("", SGR parameters)."""
    end = 0
    for match in _SGR.finditer(raw):
        yield from ((piece, None) for piece in split_tabs(raw[end : match.start()]))
        yield "", match[1]
        end = match.end()
    yield from ((piece, None) for piece in split_tabs(raw[end:]))


def _apply_codes(pen: TextAttributes, codes: str) -> TextAttributes:
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
            color = code - 30 if code < 90 else code - 82  # 90 to 97 are the bright colours 8 to 15.
        elif code == 39:
            color = None
        elif code in (38, 48):
            extended, used = _extended_color(numbers[index + 1 :])
            color = extended if code == 38 and extended is not None else color
            index += used
        index += 1
    return TextAttributes(color, bold, underline)


def _extended_color(rest: Sequence[int]) -> tuple[int | str | None, int]:
    """Return (colour, number of parameters read) for the parameters after 38 or 48 in an SGR sequence.

    The colour is an index (0 to 255), `#rrggbb`, or None if the parameters are invalid.
    """
    if len(rest) >= 2 and rest[0] == 5:
        return min(rest[1], 255), 2
    if len(rest) >= 4 and rest[0] == 2:
        red, green, blue = (min(value, 255) for value in rest[1:4])
        return f"#{red:02x}{green:02x}{blue:02x}", 4
    return None, len(rest)


def _style(pen: TextAttributes, look: Look) -> Style:
    role: Role = "t2"
    if isinstance(pen.color, int) and pen.color < 16:
        role = _NAMED[pen.color % 8]
    elif pen.color is not None and look.palette.mode == "full":
        is_number = isinstance(pen.color, int)
        color = RichColor.from_ansi(int(pen.color)) if is_number else RichColor.parse(str(pen.color))
        shade = color.get_truecolor().hex
        if contrast(shade, look.palette.theme.colors["s0"]) >= MIN_CONTRAST:
            return look.ground + Style(color=shade, bold=pen.bold or None, underline=pen.underline or None)
    return look.style(role, bold=pen.bold, underline=pen.underline)
