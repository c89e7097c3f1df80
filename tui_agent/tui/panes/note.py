"""A short word to the user above the prompt: what was refused and why, what was done.

Invariant: it covers, it moves nothing; it is wrapped, and where it has no room it names the key that shows all of it; it
goes by itself or with the next message.
"""

from typing import Final, Literal, TypeAlias

from textual.strip import Strip

from tui_agent.tui.text import clean
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import Part, row, wrap

Level: TypeAlias = Literal["info", "done", "warning", "error"]
_ROLES: dict[Level, Role] = {"info": "accent", "done": "success", "warning": "warning", "error": "error"}
MOST_ROWS: Final = 8


class Note(LinePane):
    """A few rows on the menu's surface, with a bar and a symbol of its level."""

    surface = "s3"
    text: str = ""
    level: Level = "info"
    key: str = ""
    """What shows all of it."""
    cut: bool = False
    """Not all of it has room."""

    def lines(self, width: int, most: int = MOST_ROWS) -> list[str]:
        """The text as it stands at this width, in so many rows."""
        pieces = wrap(clean(self.text), max(10, width - 4))
        self.cut = len(pieces) > min(most, MOST_ROWS)
        if not self.cut:
            return pieces
        held = max(0, min(most, MOST_ROWS) - 1)
        return [*pieces[:held], f"{self.key} shows all of it, {len(pieces) - held} more lines."]

    def draw(self, width: int, height: int) -> list[Strip]:
        symbols = self.looks.symbols
        mark = {
            "info": symbols.dot,
            "done": symbols.done,
            "warning": symbols.warning,
            "error": symbols.failed,
        }[self.level]
        role = _ROLES[self.level]
        rows: list[Strip] = []
        for at, line in enumerate(self.lines(width, height)):
            left: list[Part] = [
                (mark if at == 0 else " ", self.style(role, bold=True)),
                (" ", self.style()),
                (line, self.style("t1")),
            ]
            rows.append(row(width, left, fill=self.style()))
        return rows
