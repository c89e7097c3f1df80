"""Conversion of the app's screens to SVG: a picture, or a film that plays by itself.

Invariant: the same screens give the same bytes. A row that occurs in several frames is stored once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import MONOKAI
from textual.screen import Screen
from textual.strip import Strip

CELL_WIDTH, CELL_HEIGHT = 8, 17
FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
FONT_SIZE = 13.33
"""At which a cell of a common monospaced font is CELL_WIDTH wide."""
BASELINE = 12.5
OVERLAP = 0.6
"""Rows overlap by this, or a scaled picture shows a line between two of them."""


@dataclass(frozen=True)
class Frame:
    """A screen as rows of SVG, and the seconds that it is shown."""

    rows: tuple[str, ...]
    seconds: float


def grab(screen: Screen[object], seconds: float = 0.0) -> Frame:
    """Return the present screen as a frame."""
    strips = screen._compositor.render_strips()[: screen.size.height]
    return Frame(tuple(_row(strip) for strip in strips), seconds)


def _row(strip: Strip) -> str:
    """Return one row of the screen as SVG: first the backgrounds, then the texts at their columns."""
    boxes: list[tuple[str, int, int]] = []
    texts, column = [], 0
    for segment in Segment.simplify(strip):
        width = segment.cell_length * CELL_WIDTH
        colour, background = _colours(segment.style)
        if boxes and boxes[-1][0] == background:
            boxes[-1] = (background, boxes[-1][1], boxes[-1][2] + width)
        else:
            boxes.append((background, column, width))
        if segment.text.strip():
            texts.append(
                f'<text x="{column}" y="{BASELINE}" textLength="{width}" fill="{colour}"{_weight(segment.style)}>'
                f"{escape(segment.text)}</text>"
            )
        column += width
    painted = [
        f'<rect x="{x}" width="{width}" height="{CELL_HEIGHT + OVERLAP}" fill="{fill}"/>'
        for fill, x, width in boxes
    ]
    return "".join(painted + texts)


def _colours(style: Style | None) -> tuple[str, str]:
    """Return the text colour and the background as hexadecimal numbers."""
    shown = style or Style()
    colour = shown.color.get_truecolor(MONOKAI) if shown.color else MONOKAI.foreground_color
    background = (
        shown.bgcolor.get_truecolor(MONOKAI, foreground=False) if shown.bgcolor else MONOKAI.background_color
    )
    if shown.reverse:
        colour, background = background, colour
    if shown.dim:
        mixed = ((a + b) // 2 for a, b in zip(colour, background, strict=True))
        colour = ColorTriplet(*mixed)
    return colour.hex, background.hex


def _weight(style: Style | None) -> str:
    shown = style or Style()
    return (
        (' font-weight="bold"' if shown.bold else "")
        + (' font-style="italic"' if shown.italic else "")
        + (' text-decoration="underline"' if shown.underline else "")
    )


def film(frames: Sequence[Frame], columns: int, title: str) -> str:
    """Return the frames as one SVG that plays in a loop; a single frame gives a still picture."""
    width, height = columns * CELL_WIDTH, len(frames[0].rows) * CELL_HEIGHT
    ids: dict[str, str] = {}
    for frame in frames:
        for row in frame.rows:
            ids.setdefault(row, f"r{len(ids)}")
    total = sum(frame.seconds for frame in frames)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        "<style>",
        f"text{{font-family:{FONT};font-size:{FONT_SIZE}px;white-space:pre}}rect{{shape-rendering:crispEdges}}",
    ]
    if len(frames) > 1:
        parts.append(f".film{{animation:play {total:.1f}s step-end infinite}}")
        parts.append("@keyframes play{" + _keyframes(frames, total, height) + "}")
    parts += ["</style>", "<defs>"]
    parts += [f'<g id="{name}">{row}</g>' for row, name in ids.items()]
    parts += ["</defs>", '<g class="film">']
    for number, frame in enumerate(frames):
        top = number * height
        parts += [
            f'<use href="#{ids[row]}" y="{top + index * CELL_HEIGHT}"/>'
            for index, row in enumerate(frame.rows)
        ]
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _keyframes(frames: Sequence[Frame], total: float, height: int) -> str:
    """Return CSS keyframes that show one frame after the other, each for its seconds."""
    moves, passed = [], 0.0
    for number, frame in enumerate(frames):
        moves.append(f"{100 * passed / total:.3f}%{{transform:translateY({-number * height}px)}}")
        passed += frame.seconds
    return "".join(moves)
