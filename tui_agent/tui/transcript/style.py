"""The look of the transcript: palette, symbols, widths and columns.

Invariant: all values are immutable, and equal looks draw equal rows.
"""

from collections.abc import Sequence
from typing import Final

from rich.style import Style

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.theme.glyphs import Symbols
from tui_agent.tui.theme.theme import Palette, Role
from tui_agent.tui.transcript.styled_rows import Row, TextRun, width_of

STATE_COLUMN: Final = 2
"""The column of an entry's state symbol."""
TEXT_COLUMN: Final = 4
"""The first column of an entry's text."""
TARGET_COLUMN: Final = 14
"""The first column of a tool call's target, after the verb."""
MARGIN: Final = 2
"""Width of the right margin, in cells. The scrollbar is in its last column."""
MAX_TEXT_CELLS: Final = 100
"""Maximum width of prose, in cells."""


def output_columns(width: int) -> int:
    """Return the number of columns for program output in a transcript of this width."""
    return width - MARGIN - TEXT_COLUMN - 2


@dataclass(frozen=True, slots=True)
class Look:
    """Settings for drawing the transcript.

    - `width`: width in cells, with both margins
    - `base`: background role of all text
    - `actions`: the actions that the app can run, e.g. `fork`; others are not shown
    """

    palette: Palette
    symbols: Symbols
    width: int
    base: Role = "s0"
    actions: frozenset[str] = frozenset()

    def style(
        self, role: Role, ground: Role | None = None, *, bold: bool = False, underline: bool = False
    ) -> Style:
        """Return the style for a text role and a background role."""
        return self.palette.style(role, ground or self.base, bold=bold, underline=underline)

    def available_actions(self, *names: str) -> tuple[str, ...]:
        """Return the actions in `names` that the app can run."""
        return tuple(name for name in names if name in self.actions)

    @property
    def ground(self) -> Style:
        """The style of empty cells, on the background `base`."""
        return self.palette.style("t1", self.base)

    @property
    def right(self) -> int:
        """The first column of the right margin."""
        return max(self.width - MARGIN, TEXT_COLUMN + 1)

    @property
    def full(self) -> int:
        """Width in cells of code, diffs and output."""
        return max(self.right - TEXT_COLUMN, 1)

    @property
    def text(self) -> int:
        """Width in cells of prose."""
        return min(self.full, MAX_TEXT_CELLS)

    def gutter(self) -> TextRun:
        """Return the spaces that are drawn to the left of the text."""
        return TextRun(" " * TEXT_COLUMN, self.ground)

    def rail(self, role: Role = "border-strong") -> list[TextRun]:
        """Return the gutter, the rail (a vertical line), and the space between the rail and the text."""
        return [self.gutter(), TextRun(self.symbols.rail, self.style(role)), TextRun(" ", self.ground)]

    def head(self, symbol: str, role: Role, words: str, words_role: Role = "t2") -> list[TextRun]:
        """Return the first columns of an entry's head row: a symbol for the state, and a verb or other words."""
        return [
            TextRun(" " * STATE_COLUMN, self.ground),
            TextRun(f"{symbol} ", self.style(role)),
            TextRun(words.ljust(TARGET_COLUMN - TEXT_COLUMN), self.style(words_role)),
        ]

    def row(self, *runs: TextRun) -> Row:
        return Row(runs, self.ground)

    def hint(self, text: str, ground: Role | None = None) -> TextRun:
        """Return a text in the colour of hints; a click on it folds or unfolds the entry."""
        return TextRun(text, self.style("t3", ground), act="fold")

    def more_lines(self, count: int, ground: Role | None = None) -> TextRun:
        """Return the hint `12 more lines`."""
        return self.hint(format_count(count, "more line"), ground)

    def both_sides(self, left: Sequence[TextRun], right: Sequence[TextRun]) -> Row:
        """Return a row with the runs `left` at its left edge and the runs `right` at its right edge."""
        gap = TextRun(" " * max(self.right - width_of(left) - width_of(right), 1), self.ground)
        return self.row(*left, gap, *right) if right else self.row(*left)
