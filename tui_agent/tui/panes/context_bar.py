"""Drawing of the context meter: a bar with ticks, and a colour and words for its level.

Invariant: the same fraction has the same colour and the same words everywhere.
"""

from typing import TYPE_CHECKING

from rich.style import Style

from tui_agent.tui.theme.glyphs import Symbols
from tui_agent.tui.theme.theme import Palette, Role
from tui_agent.tui.widgets.rows import Part

if TYPE_CHECKING:  # the views are loaded after the first paint
    from tui_agent.folds.context.meter import ContextMeterView

WARN, SOFT, CRITICAL = 0.32, 0.40, 0.80
"""Levels of the meter, as fractions of the context window."""
WORDS = {
    "below": "below soft limit",
    "near": "near soft limit",
    "over": "over soft limit",
}


def meter_role(view: "ContextMeterView") -> Role:
    """Return the colour role of the meter: green below the warning level, then amber, and red close to compaction."""
    if view.level == "compaction" or view.fraction >= CRITICAL:
        return "error"
    return "success" if view.level == "below" else "warning"


def meter_style(palette: Palette, view: "ContextMeterView", ground: Role, *, bold: bool = False) -> Style:
    """Return the meter's style for its level; the style is bold above the soft limit."""
    return palette.style(meter_role(view), ground, bold=bold or view.level in ("over", "compaction"))


def ticks(view: "ContextMeterView", cells: int) -> dict[int, str]:
    """Return the marks on the meter's bar as `{cell: percentage}`.

    `cells`: width of the bar.
    """
    limits = (WARN, SOFT, view.compaction_fraction) if cells >= 10 else (SOFT, view.compaction_fraction)
    return {min(cells - 1, round(limit * cells)): str(round(limit * 100)) for limit in limits if limit}


def bar(palette: Palette, symbols: Symbols, view: "ContextMeterView", cells: int, ground: Role) -> list[Part]:
    """Return the filled and the empty part of the meter's bar, both with ticks at the limits."""
    filled = min(cells, max(1 if view.used else 0, round(view.fraction * cells)))
    marks = ticks(view, cells)
    full = "".join(symbols.meter_passed if cell in marks else symbols.meter_full for cell in range(filled))
    rest = "".join(
        symbols.meter_limit if cell in marks else symbols.meter_rest for cell in range(filled, cells)
    )
    return [(full, meter_style(palette, view, ground)), (rest, palette.style("border-strong", ground))]


def tick_labels(view: "ContextMeterView", cells: int) -> str:
    """Return the row of percentages below the bar's ticks; if two labels overlap, leave out the earlier one."""
    line = [" "] * cells
    for cell, label in sorted(ticks(view, cells).items()):
        # One cell to the left, because on a narrow bar the label 32 would touch the label 40.
        start = max(0, min(cells - len(label), cell - (label == "32")))
        if start and line[start - 1] != " ":
            line[max(0, start - 3) : start] = " " * min(3, start)
        line[start : start + len(label)] = label
    return "".join(line)


def words(view: "ContextMeterView") -> str:
    """Return the meter's level in words, such as `near soft limit`. Without automatic compaction, the words for an
    almost full window name `/compact`.
    """
    if view.fraction < CRITICAL:
        return WORDS[view.level]
    if view.compaction_fraction:
        return "compaction near"
    return f"{'over the window' if view.fraction >= 1 else 'window almost full'}: /compact"
