"""The transcript's scrollbar: a thumb without a track, drawn with half cells.

Invariant: the scrollbar is one column wide.
"""

from typing import ClassVar, Final

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBarRender
from textual.widget import Widget

from tui_agent.tui.theme.glyphs import Symbols

_BLACK: Final = Color.parse("black")
_WHITE: Final = Color.parse("white")


class ThumbOnly(ScrollBarRender):
    """A scrollbar that draws only its thumb."""

    GLYPH: ClassVar[str] = "▐"

    @classmethod
    def render_bar(
        cls,
        size: int = 25,
        virtual_size: float = 50,
        window_size: float = 20,
        position: float = 0,
        thickness: int = 1,
        vertical: bool = True,
        back_color: Color = _BLACK,
        bar_color: Color = _WHITE,
    ) -> Segments:
        """Draw the scrollbar, one segment per row. Clicks work as on Textual's scrollbar."""
        back = Style(bgcolor=back_color)
        if not window_size or virtual_size <= window_size or size <= 0:
            return Segments([Segment(" ", back)] * max(size, 0), new_lines=True)
        thumb = min(max(1, round(size * window_size / virtual_size)), size)
        start = round((size - thumb) * position / (virtual_size - window_size))
        start = min(max(start, 0), size - thumb)
        above = Segment(" ", back + Style(meta={"@mouse.down": "scroll_up"}))
        below = Segment(" ", back + Style(meta={"@mouse.down": "scroll_down"}))
        grip = Segment(cls.GLYPH, back + Style(color=bar_color, meta={"@mouse.down": "grab"}))
        return Segments([above] * start + [grip] * thumb + [below] * (size - thumb - start), new_lines=True)


class AsciiThumb(ThumbOnly):
    """Scrollbar with an ASCII thumb, for terminals without half cells."""

    GLYPH: ClassVar[str] = "|"


def style_scrollbar(widget: Widget, symbols: Symbols) -> None:
    """Make a widget's scrollbar use a thumb that the terminal can draw."""
    thumb = ThumbOnly if symbols.name == "unicode" else AsciiThumb
    widget.vertical_scrollbar.renderer = thumb  # type: ignore[misc]  # Textual reads it from the instance
