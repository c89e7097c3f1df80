"""The footer: the keys that work now, the most useful key first, the help key last.

Invariant: every key that is shown does something. If there is no room for all keys, keys that close something are left
out last.
"""

from collections.abc import Sequence

from textual.strip import Strip

from tui_agent.tui.actions import KeyHint
from tui_agent.tui.widgets.keymap import key_map_of
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import cells, hints_width


class Footer(LinePane):
    """The footer of a screen: one row of keys, each with a word for its action."""

    keys: Sequence[KeyHint] = ()
    has_help_key = True

    def set_keys(self, keys: Sequence[KeyHint]) -> None:
        """Show these keys, each with the word for its action."""
        if tuple(keys) != self.keys:
            self.keys = tuple(keys)
            self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        pen = self.pen
        help_pen = pen._replace(intent="help")
        help_parts = [
            help_pen.part(key_map_of(self.app).key_of("help"), "t2", bold=True),
            help_pen.part(" help", "t3"),
        ]
        if not self.has_help_key:
            help_parts = []
        left = [pen.part(" " * self.shape.indent)]
        for key, word, _ in self._visible_hints(width - 4 - cells(help_parts) - cells(left)):
            gap = pen.part("   " if len(left) > 1 else "")
            left += [gap, pen.part(key, "t2", bold=True), pen.part(f" {word}", "t3")]
        return [pen.line(width, left, help_parts)]

    @property
    def hints(self) -> list[KeyHint]:
        """The keys that work now, without the help key, which has its own place."""
        return [hint for hint in self.keys if hint.action != "help"]

    def _visible_hints(self, room: int) -> list[KeyHint]:
        """Return the hints that fit. Hints for keys that close something are left out last."""
        shown = self.hints
        while shown and hints_width(shown) > room:
            shown.remove(next((hint for hint in reversed(shown) if not hint.leaves), shown[-1]))
        return shown
