"""Tables in the transcript: column widths that fit, cells that wrap within their column, alignment.

Invariant: the text of every cell is shown in full, in narrower columns if needed.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final, TypeAlias

from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.styled_rows import Row, TextRun, width_of, wrap

Cell: TypeAlias = list[TextRun]
GAP: Final = 2
_MIN_CELLS_FOR_WORDS: Final = 4


def column_widths(rows: Sequence[Sequence[Cell]], columns: int, room: int) -> list[int]:
    """Return the width of each column in cells, reduced where needed to fit into `room`."""
    natural = [1] * columns
    for row in rows:
        for index, cell in enumerate(row[:columns]):
            natural[index] = max(natural[index], width_of(cell))
    room = max(room - GAP * (columns - 1), columns)
    if sum(natural) <= room:
        return natural
    # Lower the widest columns to a common maximum until the sum fits.
    low, high = 1, max(natural)
    while low < high:
        cap = (low + high + 1) // 2
        if sum(min(size, cap) for size in natural) <= room:
            low = cap
        else:
            high = cap - 1
    widths = [min(size, low) for size in natural]
    spare = room - sum(widths)
    for index, size in enumerate(natural):
        if spare > 0 and size > widths[index]:
            widths[index] += 1
            spare -= 1
    return widths


def table_rows(
    rows: Sequence[Sequence[Cell]], widths: Sequence[int], align: str, prefix: Sequence[TextRun], look: Look
) -> list[Row]:
    """Draw a table as rows of the screen; `align` has `l`, `r` or `c` for each column."""
    screen_rows: list[Row] = []
    for row in rows:
        cells = [
            wrap(row[i] if i < len(row) else [], size, fold=size < _MIN_CELLS_FOR_WORDS) or [[]]
            for i, size in enumerate(widths)
        ]
        for line, pieces in enumerate(zip_longest(*cells, fillvalue=[])):
            runs = list(prefix)
            for index, (piece, size) in enumerate(zip(pieces, widths, strict=True)):
                is_last = index == len(widths) - 1
                runs.extend(_align_runs(piece, size, align[index : index + 1], look, last=is_last))
            screen_rows.append(Row(runs, look.ground, joined=line > 0))
    return screen_rows


def header_style(cells: Sequence[Cell], look: Look) -> list[Cell]:
    """Return column headers in bold and in the colour of labels."""
    return [[run._replace(style=look.style("t2", bold=True)) for run in cell] for cell in cells]


def _align_runs(piece: Sequence[TextRun], size: int, align: str, look: Look, *, last: bool) -> list[TextRun]:
    if piece and width_of(piece) > size:
        # A wrapped line keeps the space at which it was broken.
        piece = [*piece[:-1], piece[-1]._replace(text=piece[-1].text.removesuffix(" "))]
    spare = max(size - width_of(piece), 0)
    left = spare if align == "r" else spare // 2 if align == "c" else 0
    runs = [TextRun(" " * left, look.ground)] if left else []
    runs.extend(piece)
    return runs if last else [*runs, TextRun(" " * (spare - left + GAP), look.ground)]
