"""Rows of the transcript: text runs, which have one style each and an offset in the source text.

Invariant: the runs of a row hold only cleaned text without line feeds or tabs.

A run's `src` is the offset of its text in the source, or one of two constants:

- `LITERAL`: the run's own text is copied
- `DECOR`: nothing is copied, e.g. for line numbers
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_agent.tui.untrusted_text import cell_text, split_cells, width

DECOR: Final = -1
LITERAL: Final = -2
_Break: TypeAlias = Callable[[str, int, int], tuple[int, int]]
"""Function that finds a line break in a text.

The arguments are the text, the line's start and the line's maximum end. The result is the line's end and the start
of the next line.
"""


class TextRun(NamedTuple):
    """A piece of a row in one style.

    `act`: the action of a click on the run (`fold`, `link:<address>`, `diff`, ...).
    """

    text: str
    style: Style
    src: int = DECOR
    act: str = ""


@dataclass(slots=True, eq=False)
class Row:
    """One row of the transcript.

    - `ground`: style of the cells between the last run and the right edge
    - `joined`: True if the row continues the line of the row above
    """

    runs: Sequence[TextRun]
    ground: Style
    joined: bool = False

    def text(self) -> str:
        return "".join(run.text for run in self.runs)

    def act_at(self, x: int) -> str:
        """Return the action for a click on column `x`; an empty string if there is none."""
        column = 0
        for run in self.runs:
            column += width(run.text)
            if x < column:
                return run.act
        return ""


def strip_of(runs: Iterable[TextRun], ground: Style, cells: int) -> Strip:
    """Convert runs to a strip (Textual's screen row) of exactly `cells` cells."""
    # Neighbouring runs that look alike are merged, so that fewer bytes are sent to the terminal.
    texts = [(cell_text(text), style) for text, style, _, _ in runs]
    used = sum([width(text) for text, _ in texts])
    if used < cells:
        texts.append((" " * (cells - used), ground))
    pieces: list[tuple[str, Style]] = []
    for text, style in texts:
        if pieces and _looks_alike(pieces[-1][1], text, style):
            pieces[-1] = (pieces[-1][0] + text, pieces[-1][1])
        elif text:
            pieces.append((text, style))
    strip = Strip([Segment(text, style) for text, style in pieces], max(used, cells))
    return strip if used <= cells else strip.crop(0, cells)


def _looks_alike(before: Style, text: str, style: Style) -> bool:
    """Return True if `text` looks the same in both styles."""
    if before is style:
        return True
    if not text.isspace() or before.underline or style.underline or before.reverse or style.reverse:
        return False
    return before.bgcolor == style.bgcolor


def width_of(runs: Iterable[TextRun]) -> int:
    return sum(width(run.text) for run in runs)


def wrap(
    runs: Sequence[TextRun],
    room: int,
    *,
    rest_room: int | None = None,
    fold: bool = False,
    words: bool = False,
) -> list[list[TextRun]]:
    """Break runs into lines of at most `room` cells, at spaces if possible.

    - `rest_room`: the limit from the second line on
    - `fold`: True to break lines exactly at the limit (for commands and output)
    - `words`: True to keep every space and to break only very long words (for code)
    """
    room = max(room, 1)
    text = runs[0].text if len(runs) == 1 else "".join([run.text for run in runs])
    if width(text) <= room:
        return [list(runs)]
    rest = max(1, room if rest_room is None else rest_room)
    return _slice(runs, _cuts(text, room, rest, _at_edge if fold else _at_word if words else _break_at))


def frame(
    lines: Iterable[Sequence[TextRun]],
    ground: Style,
    first: Sequence[TextRun],
    rest: Sequence[TextRun] | None = None,
) -> list[Row]:
    """Convert wrapped lines to rows; put `first` in front of the first row and `rest` in front of the other rows."""
    rest = first if rest is None else rest
    return [
        Row([*(rest if number else first), *line], ground, joined=number > 0)
        for number, line in enumerate(lines)
    ]


def restyle(runs: Sequence[TextRun], bounds: Sequence[tuple[int, int]], extra: Style) -> list[TextRun]:
    """Return the runs with the style `extra` added to the characters within `bounds`."""
    restyled: list[TextRun] = []
    start = 0
    for run in runs:
        end = start + len(run.text)
        edges = sorted({start, end} | {edge for bound in bounds for edge in bound if start < edge < end})
        for low, high in pairwise(edges):
            part = _part(run, low - start, high - start)
            inside = any(first <= low and high <= last for first, last in bounds)
            restyled.append(part._replace(style=run.style + extra) if inside else part)
        start = end
    return restyled


def _cuts(text: str, room: int, rest_room: int, breaks: _Break) -> list[tuple[int, int]]:
    cuts: list[tuple[int, int]] = []
    start, total = 0, len(text)
    ascii_only = text.isascii()
    while start < total:
        if ascii_only:
            end = min(start + room, total)
        else:
            # Measure only the beginning, so that the time for a long text does not grow with the square of its length.
            window = text[start : start + room * 4 + 16]
            end = start + (len(split_cells(window, room)[0]) or 1)
        if end >= total:
            break
        cut, follow = breaks(text, start, end)
        cuts.append((start, cut))
        start, room = follow, rest_room
    cuts.append((start, total))
    return cuts


def _at_edge(text: str, start: int, end: int) -> tuple[int, int]:
    return end, end


def _at_word(text: str, start: int, end: int) -> tuple[int, int]:
    """Break a line at the end of a word in the second half of the line; if there is none, at `end`.

    Return the end of the line and the start of the next one, as indices into `text`.
    """
    least = start + (end - start) // 2
    if text[end] == " " and text[end - 1] != " ":
        return end, end
    cut = text.rfind(" ", least, end) + 1
    ends = (
        index for index in range(end, least, -1) if not (_in_word(text[index - 1]) and _in_word(text[index]))
    )
    cut = cut or next(ends, end)
    return cut, cut


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _break_at(text: str, start: int, end: int) -> tuple[int, int]:
    """Break a line at its last space, and skip the spaces around the break.

    Break at `end` if the line has no space, or if a wide character is next to `end`. Return the end of the line and the
    start of the next one, as indices into `text`.
    """
    if text[end] != " " and (_wide(text[end]) or _wide(text[end - 1])):
        return end, end
    space = text.rfind(" ", start + 1, end + 1)
    if space < 0 or not text[start:space].strip(" "):
        return end, end
    follow = space
    while follow < len(text) and text[follow] == " ":
        follow += 1
    while space > start and text[space - 1] == " ":
        space -= 1
    return space + 1, follow


def _wide(character: str) -> bool:
    return character > "\u1100" and cell_len(character) == 2


def _slice(runs: Sequence[TextRun], cuts: Sequence[tuple[int, int]]) -> list[list[TextRun]]:
    lines: list[list[TextRun]] = []
    index, base = 0, 0
    for start, end in cuts:
        line: list[TextRun] = []
        while index < len(runs):
            run = runs[index]
            size = len(run.text)
            if base + size <= start:
                index, base = index + 1, base + size
                continue
            low, high = max(start - base, 0), min(end - base, size)
            if low < high:
                is_complete = low == 0 and high == size
                line.append(run if is_complete else _part(run, low, high))
            if base + size > end:
                break
            index, base = index + 1, base + size
        lines.append(line)
    return lines


def _part(run: TextRun, low: int, high: int) -> TextRun:
    return TextRun(run.text[low:high], run.style, run.src + low if run.src >= 0 else run.src, run.act)


def action_runs(actions: Sequence[str], style: Style, between: Style) -> list[TextRun]:
    """Return a clickable run for each action, with spaces between them."""
    runs: list[TextRun] = []
    for name in actions:
        runs += [*([TextRun("  ", between)] if runs else []), TextRun(name, style, act=name)]
    return runs
