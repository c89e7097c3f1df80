"""Rows of the context pane: a bar with its limits, the sections, and the level in words.

Invariant: pure; the rounded figures of the sections add up to the figure in the head.
"""

from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.tui.panes.meter import bar, meter_style, tick_labels, words
from tui_agent.tui.text import clean_line, fit
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.rows import Part, Pen
from tui_agent.units import KILO, format_percent, format_thousands, format_tokens, round_to_tenths

if TYPE_CHECKING:
    from tui_agent.folds.context.meter import ContextMeterView


def context_rows(view: "ContextMeterView", looks: Looks, width: int, most: int) -> list[Strip]:
    """Return at most `most` rows; if they do not suffice, the smallest sections are left out first."""
    pen = Pen(looks, "s1")
    indent = pen.part("  ")
    right: list[Part] = []
    if view.window:
        assumed = "?" if view.assumed else ""
        limit = f"{'~' if view.window_inferred else ''}{format_tokens(view.window)}{assumed}"
        used = f"{'~' if view.estimated else ''}{format_tokens(view.used)} of {limit}"
        percent_style = meter_style(looks.palette, view, "s1", bold=True)
        right = [pen.part(f"{used}  ", "t2"), (format_percent(view.fraction), percent_style)]
    elif view.used:
        right = [pen.part(f"{format_tokens(view.used)} tokens", "t2")]
    rows = [pen.line(width, [indent, pen.part("Context", bold=True, intent="context")], right)]
    if not view.used:
        rows.append(pen.line(width, [indent, pen.part("Empty until the first message.", "t3")]))
        return rows[:most]
    if view.window:
        cells = width - 4
        rows.append(pen.line(width, [indent, *bar(looks.palette, looks.symbols, view, cells, "s1")]))
        rows.append(pen.line(width, [indent, pen.part(tick_labels(view, cells), "t3")]))
    rows += _sections(view, pen, width, max(0, most - len(rows) - 1))
    if view.window:
        rows.append(pen.line(width, [indent, (words(view), meter_style(looks.palette, view, "s1"))]))
    return rows[:most]


def _sections(view: "ContextMeterView", pen: Pen, width: int, most: int) -> list[Strip]:
    thousands = view.used >= KILO
    # Count in the unit of the rounded figures: tenths of a thousand; single tokens below a thousand.
    sections = view.scaled_sections(round_to_tenths(view.used) if thousands else view.used)
    if len(sections) > most:
        largest = sorted(sections, key=lambda section: -section.tokens)[:most]
        sections = tuple(section for section in sections if section in largest)
    top = max((section.tokens for section in sections), default=1)
    longest = max(4, width - 30)
    rows: list[Strip] = []
    for section in sections:
        name = fit(clean_line(section.name), 14, pen.looks.symbols.ellipsis)
        number = format_thousands(section.tokens * KILO // 10) if thousands else str(section.tokens)
        cells = max(1, round(section.tokens * longest / top))
        left = [
            pen.part(f"  {name.ljust(14)}", "t2"),
            pen.part(f"{number.rjust(6)}  "),
            pen.part(pen.looks.symbols.meter_full * cells, "border-strong"),
        ]
        rows.append(pen.line(width, left))
    return rows
