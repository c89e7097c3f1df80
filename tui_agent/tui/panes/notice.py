"""A notice above the prompt: the reason for a refusal, or the result of an action.

Invariant: the notice covers other widgets without moving them.
"""

from typing import Final, Literal, TypeAlias

from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import wrap

Level: TypeAlias = Literal["info", "done", "warning", "error"]
_ROLES: dict[Level, Role] = {"info": "accent", "done": "success", "warning": "warning", "error": "error"}
MAX_ROWS: Final = 8


class Notice(LinePane):
    """The notice above the prompt: a few rows of text with a symbol for the level."""

    surface = "s3"
    text: str = ""
    level: Level = "info"
    key: str = ""
    """The key that shows the full text of the notice."""
    cut: bool = False
    """True if the text of the notice is cut off."""

    @property
    def is_cut_off(self) -> bool:
        """True if only a part of the notice's text is shown."""
        return bool(self.display) and self.cut

    def fit(self, width: int, limit: int) -> int:
        """Return the number of rows that the notice needs at this width in cells, at most `limit`; set `cut` if the
        notice needs more.
        """
        limit, rows = min(limit, MAX_ROWS), len(self._wrap(width))
        self.cut = rows > limit
        return min(rows, limit)

    def _wrap(self, width: int) -> list[str]:
        return wrap(clean(self.text), max(10, width - 4))

    def _lines(self, width: int, limit: int) -> list[str]:
        pieces = self._wrap(width)
        if len(pieces) <= limit:
            return pieces
        count = max(0, limit - 1)
        rest = format_count(len(pieces) - count, "more line")
        return [*pieces[:count], f"{self.key} shows {rest}." if self.screen.is_active else f"{rest}."]

    def draw(self, width: int, height: int) -> list[Strip]:
        symbols, pen = self.looks.symbols, self.pen
        marks = {
            "info": symbols.dot,
            "done": symbols.done,
            "warning": symbols.warning,
            "error": symbols.failed,
        }
        mark = pen.part(f"{marks[self.level]} ", _ROLES[self.level], bold=True)
        return pen.hanging_rows(width, [mark], self._lines(width, height), pen.style())
