"""Styles for line-drawn widgets: a role (and what is said by weight) to a rich or a Textual style.

Invariant: the only place where a role becomes a style. The same arguments give the same object, so styles can be
compared and cached by identity; `Palette.key` names everything that its styles depend on.
"""

from typing import Final, NamedTuple

from rich.color import Color as RichColor
from rich.style import Style as RichStyle
from textual.color import Color
from textual.style import Style

from tui_agent.tui.theme.symbols import Symbols
from tui_agent.tui.theme.theme import ColourMode, Role, ThemeFile, role_ansi

_GROUNDS: Final = frozenset({"sunk", "s0", "s1", "s2", "s3", "diff-add", "diff-del", "border"})
_STRONG: Final = frozenset({"diff-add-strong", "diff-del-strong"})


class Palette:
    """The styles of one theme in one colour mode.

    In "16" and "none" surfaces are the terminal's own; a selected row is reversed, changed words are underlined.
    """

    def __init__(self, theme: ThemeFile, mode: ColourMode = "full") -> None:
        self.theme = theme
        self.mode = mode
        self.key: tuple[object, ...] = (theme.name, mode, tuple(theme.colors.values()))
        self._rich: dict[tuple[object, ...], RichStyle] = {}
        self._styles: dict[tuple[object, ...], Style] = {}

    def rich(
        self,
        text: Role | None = None,
        ground: Role | None = None,
        *,
        bold: bool = False,
        underline: bool = False,
    ) -> RichStyle:
        """A rich style, for `Segment`s of a `Strip`."""
        wanted = (text, ground, bold, underline)
        style = self._rich.get(wanted)
        if style is None:
            style = self._rich[wanted] = self._make_rich(text, ground, bold, underline)
        return style

    def style(
        self,
        text: Role | None = None,
        ground: Role | None = None,
        *,
        bold: bool = False,
        underline: bool = False,
    ) -> Style:
        """A Textual style, for spans of a `Content`."""
        wanted = (text, ground, bold, underline)
        style = self._styles.get(wanted)
        if style is None:
            made = self._make_rich(text, ground, bold, underline)
            style = self._styles[wanted] = Style(
                background=None if made.bgcolor is None else Color.from_rich_color(made.bgcolor),
                foreground=None if made.color is None else Color.from_rich_color(made.color),
                bold=True if made.bold else None,
                underline=True if made.underline else None,
                reverse=True if made.reverse else None,
            )
        return style

    def color(self, role: Role) -> str:
        """What CSS calls the colour of a role: `#rrggbb`, or a terminal colour's name."""
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
    """What everything is drawn with: styles, symbols, and whether anything may move."""

    palette: Palette
    symbols: Symbols
    motion: bool = True
