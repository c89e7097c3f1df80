"""The cursor of a text field is visible in every colour mode, also in a selected row."""

import pytest

from tui_agent.tui.theme.palette import Looks, Palette
from tui_agent.tui.theme.startup import named_theme
from tui_agent.tui.theme.symbols import UNICODE
from tui_agent.tui.theme.theme import ColourMode, Role
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import Pen


@pytest.mark.parametrize("mode", ["full", "16", "none"])
@pytest.mark.parametrize("ground", ["s0", "s1", "s2", "s3", "selection"])
def test_the_cell_under_the_cursor_differs_from_the_text_around_it(mode: ColourMode, ground: Role) -> None:
    pen = Pen(Looks(Palette(named_theme("night", {}), mode), UNICODE), ground)
    (before, style), (under, cursor), _ = Field("abc").parts(10, pen)
    assert (before, under) == ("abc", " ")
    assert (cursor.reverse, cursor.bgcolor) != (style.reverse, style.bgcolor)
