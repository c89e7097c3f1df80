"""The footer: the keys that work now, the most useful key first, the help key last.

Invariant: every key that is shown does something, also while a sheet covers the footer's screen; keys that close
something are the last to be left out.
"""

from collections.abc import Sequence

from textual.strip import Strip

from tui_agent.tui.actions import KeyHint
from tui_agent.tui.widgets.keymap import KeyScreen, key_map_of
from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import cells, hints_width


class Footer(LinePane):
    """The footer of a screen: one row of keys, each with a word for its action."""

    keys: Sequence[KeyHint] = ()

    def set_keys(self, keys: Sequence[KeyHint]) -> None:
        """Show these keys, each with the word for its action, unless a sheet covers the screen."""
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
        if self._sheet is not None:
            help_parts = []
        left = [pen.part(" " * self.shape.indent)]
        for key, word, _ in self._visible_hints(width - 4 - cells(help_parts) - cells(left)):
            gap = pen.part("   " if len(left) > 1 else "")
            left += [gap, pen.part(key, "t2", bold=True), pen.part(f" {word}", "t3")]
        return [pen.line(width, left, help_parts)]

    @property
    def _sheet(self) -> KeyScreen | None:
        """The sheet over the footer's screen that gets the keys; None if there is no sheet or it has its own footer."""
        top = self.app.screen
        is_sheet = top is not self.screen and top.is_modal
        return top if is_sheet and isinstance(top, KeyScreen) else None

    @property
    def hints(self) -> list[KeyHint]:
        """The keys that work now, without the help key, which has its own place."""
        keys = self.keys if self._sheet is None else self._sheet.key_hints()
        return [hint for hint in keys if hint.action != "help"]

    def _visible_hints(self, room: int) -> list[KeyHint]:
        """Return the hints that fit; hints for keys that close something are the last to be left out."""
        shown = self.hints
        while shown and hints_width(shown) > room:
            shown.remove(next((hint for hint in reversed(shown) if not hint.leaves), shown[-1]))
        return shown
