"""L7: a short word to the user above the prompt: what was refused and why, what was done.

Invariant: it covers, it moves nothing; it is wrapped, never cut; it goes by itself or with the next message.
"""

from typing import Literal, TypeAlias

from textual.strip import Strip

from tui_agent.tui.panes.base import LinePane
from tui_agent.tui.rows import Part, row, wrap
from tui_agent.tui.text import clean
from tui_agent.tui.theme import Role

Level: TypeAlias = Literal["info", "done", "warning", "error"]
_ROLES: dict[Level, Role] = {"info": "accent", "done": "success", "warning": "warning", "error": "error"}


class Note(LinePane):
    """A few rows on the menu's surface, with a bar and a symbol of its level."""

    surface = "s3"
    text: str = ""
    level: Level = "info"

    def lines(self, width: int) -> list[str]:
        """The text as it stands at this width."""
        return wrap(clean(self.text), max(10, width - 4))[:8]

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
        for at, line in enumerate(self.lines(width)):
            left: list[Part] = [
                (mark if at == 0 else " ", self.style(role, bold=True)),
                (" ", self.style()),
                (line, self.style("t1")),
            ]
            rows.append(row(width, left, fill=self.style()))
        return rows
