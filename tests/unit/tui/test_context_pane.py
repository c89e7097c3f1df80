"""The context pane: its sections, as they are written, add up to its head."""

import pytest

from tui_agent.folds.context.meter import ContextMeterView, MeterSection
from tui_agent.tui.panes.context_bar import bar
from tui_agent.tui.panes.sidebar import context_rows
from tui_agent.tui.theme.first_frame import named_theme
from tui_agent.tui.theme.glyphs import ASCII, UNICODE, Symbols
from tui_agent.tui.theme.theme import Looks, Palette

LOOKS = Looks(Palette(named_theme("night", {})), UNICODE, motion=False)


def figures(*counts: int) -> tuple[str, list[str]]:
    """The head's figure, and the sections' ones."""
    sections = tuple(MeterSection(f"section {at}", count) for at, count in enumerate(counts))
    view = ContextMeterView(used=sum(counts), window=200_000, estimated=False, sections=sections)
    rows = [strip.text for strip in context_rows(view, LOOKS, 44, 20)]
    return rows[0].split()[1], [row.split()[2] for row in rows if row.strip().startswith("section")]


@pytest.mark.parametrize(
    "counts",
    [(340, 1240, 240, 5280), (449, 1449, 12), (49, 48, 47, 900), (3349, 3450, 551), (7350,), (20_049,) * 4],
)
def test_the_figures_of_the_sections_add_up_to_the_heads(counts: tuple[int, ...]) -> None:
    head, shown = figures(*counts)
    assert sum(round(float(one.removesuffix("k")) * 10) for one in shown) == round(
        float(head.removesuffix("k")) * 10
    )


def test_a_section_of_which_nothing_is_left_has_no_row() -> None:
    assert figures(449, 1449, 12) == ("1.9k", ["0.5k", "1.4k"])
    assert figures(12, 0, 30) == ("42", ["12", "30"])


@pytest.mark.parametrize("symbols", [UNICODE, ASCII])
@pytest.mark.parametrize(("share", "passed"), [(0.2, 0), (0.36, 1), (0.6, 2), (0.95, 3)])
def test_the_ticks_of_the_limits_stand_on_the_filled_part_too(
    symbols: Symbols, share: float, passed: int
) -> None:
    view = ContextMeterView(
        used=round(200_000 * share), window=200_000, fraction=share, compaction_fraction=0.85
    )
    for cells in (10, 40):
        full, rest = (text for text, _ in bar(LOOKS.palette, symbols, view, cells, "s1"))
        assert (full.count(symbols.meter_passed), rest.count(symbols.meter_limit)) == (passed, 3 - passed)
        assert len(full + rest) == cells
