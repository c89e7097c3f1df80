"""The footer: the keys that work now, the most useful key first, the help key last.

Invariant: every key that is shown does something.
"""

from collections.abc import Sequence

from textual.strip import Strip

from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.widgets.keymap import key_map_of
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import HINTS_GAP, NARROW_HINTS_GAP, cells, fit_hints, hint_parts, hints_width


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
        help_hint = KeyHint(key_map_of(self.app).key_of("help"), "help", "help")
        help_parts = hint_parts([help_hint] if self.has_help_key else [], pen._replace(intent="help"))
        left = [pen.part(" " * self.shape.indent)]
        room = width - 4 - cells(help_parts) - cells(left)
        # Narrow gaps are used only if all keys fit with them; otherwise some keys are left out.
        fits_narrow = hints_width(self.hints, NARROW_HINTS_GAP) <= room < hints_width(self.hints)
        shown = self.hints if fits_narrow else fit_hints(self.hints, room)
        left += hint_parts(shown, pen, NARROW_HINTS_GAP if fits_narrow else HINTS_GAP)
        return [pen.line(width, left, help_parts)]

    @property
    def hints(self) -> list[KeyHint]:
        """The keys that work now, without the help key."""
        return [hint for hint in self.keys if hint.action != "help"]
