"""L7: the footer: the keys that work now, most useful first, help last. Invariant: it never names a dead key."""

from collections.abc import Sequence

from textual.strip import Strip

from tui_agent.tui.panes.base import LinePane
from tui_agent.tui.rows import Part, cells, doing, row


class Footer(LinePane):
    """One row of keys and words."""

    keys: Sequence[tuple[str, str]] = ()

    def set_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        """Show these keys, with their words."""
        if tuple(keys) != self.keys:
            self.keys = tuple(keys)
            self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        help_parts: list[Part] = [
            ("F1", doing(self.style("t2", bold=True), "help")),
            (" help", doing(self.style("t3"), "help")),
        ]
        left: list[Part] = [(" " * self.shape.indent, self.style())]
        room = width - 4 - cells(help_parts)
        for key, word in self.keys:
            if key == "F1":
                continue
            wide = len(key) + len(word) + 1
            if cells(left) + wide > room:
                break
            left += [
                (key, self.style("t2", bold=True)),
                (f" {word}", self.style("t3")),
                ("   ", self.style()),
            ]
        return [row(width, left, help_parts, fill=self.style())]
