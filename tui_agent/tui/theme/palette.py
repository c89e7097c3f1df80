"""Styles for widgets that draw their own lines: a rich style for a colour role and a weight.

Invariant: only this module turns a role into a style. Equal arguments return the same object, so styles can be
compared and cached by identity; `Palette.key` holds everything that its styles depend on.
"""

from typing import Final, NamedTuple

from rich.color import Color as RichColor
from rich.style import Style as RichStyle

from tui_agent.tui.theme.symbols import Symbols
from tui_agent.tui.theme.theme import ColourMode, Role, ThemeFile, role_ansi

_GROUNDS: Final = frozenset({"sunk", "s0", "s1", "s2", "s3", "diff-add", "diff-del", "border"})
_STRONG: Final = frozenset({"diff-add-strong", "diff-del-strong"})


class Palette:
    """The styles of one theme in one colour mode.

    In the modes "16" and "none", backgrounds are the terminal's own; a selected row is reversed and changed words are
    underlined.
    """

    def __init__(self, theme: ThemeFile, mode: ColourMode = "full") -> None:
        self.theme = theme
        self.mode = theme.mode_in(mode)
        self.key: tuple[object, ...] = (theme.name, self.mode, tuple(theme.colors.values()))
        self._rich: dict[tuple[object, ...], RichStyle] = {}

    def style(
        self,
        text: Role | None = None,
        ground: Role | None = None,
        *,
        bold: bool = False,
        underline: bool = False,
    ) -> RichStyle:
        """Return a rich style with these roles as the colours of text and background."""
        wanted = (text, ground, bold, underline)
        style = self._rich.get(wanted)
        if style is None:
            style = self._rich[wanted] = self._make_rich(text, ground, bold, underline)
        return style

    def color(self, role: Role) -> str:
        """Return the CSS colour of a role: `#rrggbb`, or the name of a terminal colour."""
        return self.theme.colors[role] if self.mode == "full" else role_ansi(role, self.mode)

    def _make_rich(self, text: Role | None, ground: Role | None, bold: bool, underline: bool) -> RichStyle:
        if self.mode == "full":
            return RichStyle(
                color=None if text is None else RichColor.parse(self.theme.colors[text]),
                bgcolor=None if ground is None else RichColor.parse(self.theme.colors[ground]),
                bold=bold or None,
                underline=underline or None,
            )
        return RichStyle(
            color=self._terminal_color(text, ground),
            bold=bold or None,
            underline=underline or ground in _STRONG or None,
            reverse=ground in ("selection", "accent") or None,
        )

    def _terminal_color(self, text: Role | None, ground: Role | None) -> RichColor | None:
        if text is None or self.mode == "none" or ground in ("selection", "accent"):
            return None
        name = role_ansi(text, self.mode).removeprefix("ansi_")
        if name == "default" or (name == "bright_black" and ground not in _GROUNDS and ground is not None):
            return None
        return RichColor.parse(name)


class Looks(NamedTuple):
    """The look of the screen: its styles and symbols, and whether anything may blink."""

    palette: Palette
    symbols: Symbols
    motion: bool = True
