"""The footer: the keys that work now, the most useful key first, the help key last.

Invariant: every key that is shown does something. If there is no room for all keys, the gaps between them become
narrower; if there is still no room, keys that close something are left out last.
"""

from collections.abc import Sequence

from textual.strip import Strip

from tui_agent.tui.actions import KeyHint
from tui_agent.tui.widgets.keymap import key_map_of
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import HINTS_GAP, NARROW_HINTS_GAP, cells, hint_caption, hints_width


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
        room = width - 4 - cells(help_parts) - cells(left)
        fits_narrow = hints_width(self.hints, NARROW_HINTS_GAP) <= room < hints_width(self.hints)
        between = " " * (NARROW_HINTS_GAP if fits_narrow else HINTS_GAP)
        for hint in self.hints if fits_narrow else self._visible_hints(room):
            gap = pen.part(between if len(left) > 1 else "")
            left += [gap, pen.part(hint.key, "t2", bold=True), pen.part(hint_caption(hint), "t3")]
        return [pen.line(width, left, help_parts)]

    @property
    def hints(self) -> list[KeyHint]:
        """The keys that work now. The help key is left out, because it has its own place."""
        return [hint for hint in self.keys if hint.action != "help"]

    def _visible_hints(self, room: int) -> list[KeyHint]:
        """Return the hints that fit. Hints for keys that close something are left out last."""
        shown = self.hints
        while shown and hints_width(shown) > room:
            shown.remove(next((hint for hint in reversed(shown) if not hint.leaves), shown[-1]))
        return shown
