"""Layout of the screen at each terminal size.

Invariant: all functions are pure, and only `shape(width, height)` knows the breakpoints.
"""

from typing import NamedTuple

WIDE, SIDE, MIDDLE = 140, 100, 70
"""Minimum widths of the terminal, in cells, for wide side panes, side panes, and the row with the policy."""
AIRY, LOW = 30, 16
"""Minimum heights of the terminal, in rows, for empty rows between the parts, and for the usual layout."""


class Shape(NamedTuple):
    """The layout at one terminal size. Heights are in rows, widths in cells."""

    width: int
    height: int
    sidebar: int
    airy: bool
    """True if empty rows separate header, status and footer from the rest of the screen."""
    tiny: bool
    """True on a very low screen: its first row shows the session's state, and its last row is the prompt."""
    strip: bool
    policy_row: bool
    prompt_rows: int
    """Maximum height of the prompt in rows, including its policy row."""

    @property
    def main(self) -> int:
        """Width of the chat column, in cells."""
        return self.width - self.sidebar

    @property
    def indent(self) -> int:
        """Left margin of the footer and of the strip that replaces the side panes, in cells."""
        return 4 if self.width >= SIDE else 2 if self.width >= 30 else 0


def shape(width: int, height: int, *, sidebar: bool = True) -> Shape:
    """Return the layout for a terminal of this size in cells.

    `sidebar`: False to leave out the side panes.
    """
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
