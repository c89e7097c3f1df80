"""The footer: the keys that work now, most useful first, help last. Invariant: it never names a dead key, and where
there is no room for all the way out is not among those that go."""

from collections.abc import Sequence

from textual.strip import Strip

from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import Part, cells, doing, row, wide


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
        for key, word in self._fitting(width - 4 - cells(help_parts) - cells(left)):
            left += [
                (key, self.style("t2", bold=True)),
                (f" {word}", self.style("t3")),
                ("   ", self.style()),
            ]
        return [row(width, left, help_parts, fill=self.style())]

    def _fitting(self, room: int) -> list[tuple[str, str]]:
        """Of too many keys the last go, the way out never."""
        shown = [one for one in self.keys if one[0] != "F1"]
        while shown and wide(shown) > room:
            shown.remove(next((one for one in reversed(shown) if one[0] != "Esc"), shown[-1]))
        return shown
