"""The cursor of a text field is visible in every colour mode, also in a selected row."""

from typing import SupportsIndex

import pytest

from tui_agent.tui.theme.first_frame import named_theme
from tui_agent.tui.theme.glyphs import UNICODE
from tui_agent.tui.theme.theme import ColourMode, Looks, Palette, Role
from tui_agent.tui.untrusted_text import width
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import Pen


class CountedText(str):
    """A text that counts the characters that were copied out of it."""

    copied = 0

    def __getitem__(self, index: SupportsIndex | slice) -> str:
        piece = super().__getitem__(index)
        CountedText.copied += len(piece)
        return piece


def test_a_long_text_is_drawn_from_what_stands_around_its_cursor() -> None:
    pen = Pen(Looks(Palette(named_theme("night", {}), "full"), UNICODE), "s0")
    field = Field()
    field.text, field.cursor = CountedText("wide 宽 text " * 2_000), 21_999
    (before, _), (under, _), _ = field.parts(40, pen)
    assert width(before) == 39 or width(before) == 38
    assert field.text.startswith(before + under, 21_999 - len(before))
    assert CountedText.copied < 10 * len(field.text)


@pytest.mark.parametrize("mode", ["full", "16", "none"])
@pytest.mark.parametrize("ground", ["s0", "s1", "s2", "s3", "selection"])
def test_the_cell_under_the_cursor_differs_from_the_text_around_it(mode: ColourMode, ground: Role) -> None:
    pen = Pen(Looks(Palette(named_theme("night", {}), mode), UNICODE), ground)
    (before, style), (under, cursor), _ = Field("abc").parts(10, pen)
    assert (before, under) == ("abc", " ")
    assert (cursor.reverse, cursor.bgcolor) != (style.reverse, style.bgcolor)
