"""The layout of the screen at each size.

Invariant: pure; `shape(width, height)` is the only place that knows the breakpoints.
"""

from typing import NamedTuple

WIDE, SIDE, MIDDLE = 140, 100, 70
AIRY, LOW = 30, 16


class Shape(NamedTuple):
    """The layout at one size. Heights are rows, widths are cells; `sidebar` 0 means none."""

    width: int
    height: int
    sidebar: int
    airy: bool
    """Empty rows below the header, above the status and above the footer."""
    tiny: bool
    """Two-line mode: state on the first row, prompt on the last."""
    strip: bool
    policy_row: bool
    prompt_rows: int
    """The most rows the prompt may take, its policy row included."""

    @property
    def main(self) -> int:
        """Width of the chat's column."""
        return self.width - self.sidebar

    @property
    def indent(self) -> int:
        """Left margin of strip and footer."""
        return 4 if self.width >= SIDE else 2 if self.width >= 30 else 0


def shape(width: int, height: int, *, sidebar: bool = True) -> Shape:
    """Return the layout for a terminal of this size; `sidebar` False hides the side panes."""
    tiny = height < LOW
    cells = 0 if tiny or width < SIDE or not sidebar else 50 if width >= WIDE else 38
    policy_row = width >= MIDDLE and not tiny
    least = 2 if policy_row else 1
    return Shape(
        width=width,
        height=height,
        sidebar=cells,
        airy=height >= AIRY,
        tiny=tiny,
        strip=not tiny and cells == 0,
        policy_row=policy_row,
        prompt_rows=max(least, min(10, height * 3 // 10)),
    )
