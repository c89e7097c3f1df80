"""The footer: the keys that work now, most useful first, help last.

Invariant: it never names a key that does nothing; keys that close something are dropped last.
"""

from collections.abc import Sequence

from textual.strip import Strip

from tui_agent.tui.actions import KeyHint
from tui_agent.tui.widgets.keymap import key_map_of
from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import Part, cells, doing, row, wide


class Footer(LinePane):
    """One row of keys and words."""

    keys: Sequence[KeyHint] = ()

    def set_keys(self, keys: Sequence[KeyHint]) -> None:
        """Show these keys, with their words."""
        if tuple(keys) != self.keys:
            self.keys = tuple(keys)
            self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        help_parts: list[Part] = [
            (key_map_of(self.app).key_of("help"), doing(self.style("t2", bold=True), "help")),
            (" help", doing(self.style("t3"), "help")),
        ]
        left: list[Part] = [(" " * self.shape.indent, self.style())]
        for key, word, _ in self._visible_hints(width - 4 - cells(help_parts) - cells(left)):
            left += [
                (key, self.style("t2", bold=True)),
                (f" {word}", self.style("t3")),
                ("   ", self.style()),
            ]
        return [row(width, left, help_parts, fill=self.style())]

    def _visible_hints(self, room: int) -> list[KeyHint]:
        """Return the hints that fit; the last are dropped first, but those that close something only at the end."""
        shown = [hint for hint in self.keys if hint.action != "help"]
        while shown and wide(shown) > room:
            shown.remove(next((hint for hint in reversed(shown) if not hint.leaves), shown[-1]))
        return shown
