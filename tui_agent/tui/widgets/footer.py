"""Key hints, and the footer: the keys that work now, the most useful key first, the help key last.

Invariant: every key that is shown does something.
"""

from collections.abc import Iterable, Sequence

from textual.strip import Strip

from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.widgets.keymap import key_map_of
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import Part, Pen, cells

HINTS_GAP, NARROW_HINTS_GAP = 3, 2
"""Usual and smallest distance between two keys in a row of keys, in cells."""


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


def hint_caption(hint: KeyHint) -> str:
    """Return the word to show after the key; empty if the key has the same name, e.g. `Delete`."""
    return "" if hint.word == hint.key.casefold() else f" {hint.word}"


def hint_parts(hints: Iterable[KeyHint], pen: Pen, gap: int = HINTS_GAP) -> list[Part]:
    """Return the keys with their words, with `gap` cells between two keys."""
    parts: list[Part] = []
    for hint in hints:
        parts += [pen.part(" " * gap)] if parts else []
        parts += [pen.part(hint.key, "t2", bold=True), pen.part(hint_caption(hint), "t3")]
    return parts


def fit_hints(hints: Iterable[KeyHint], room: int, least: int = 0) -> list[KeyHint]:
    """Return the hints that fit into `room` cells, but at least `least` hints.

    The last hints are left out first. Keys that leave the screen are left out only after all others.
    """
    shown = list(hints)
    while len(shown) > least and hints_width(shown) > room:
        shown.remove(next((hint for hint in reversed(shown) if not hint.leaves), shown[-1]))
    return shown


def hints_width(hints: Sequence[KeyHint], gap: int = HINTS_GAP) -> int:
    """Return the width in cells of the keys with their words."""
    return sum(len(hint.key) + len(hint_caption(hint)) + gap for hint in hints) - gap
