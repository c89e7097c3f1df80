"""The context pane as rows: bar with its limits, sections, and the level in words.

Invariant: pure; the figures of the sections, as they are written, add up to the head's.
"""

from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.tui.panes.meter import bar, meter_role, meter_style, tick_labels, words
from tui_agent.tui.text import clean_line, fit
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import Part, doing, part, row
from tui_agent.units import KILO, format_percent, format_thousands, format_tokens, round_to_tenths

if TYPE_CHECKING:
    from tui_agent.folds.context.meter import ContextMeterView


def context_rows(
    view: "ContextMeterView", looks: Looks, width: int, most: int, ground: Role = "s1"
) -> list[Strip]:
    """Return at most `most` rows; without room for all, the smallest sections are dropped first."""
    palette = looks.palette
    fill = palette.rich("t1", ground)
    bold = doing(palette.rich("t1", ground, bold=True), "context")
    right: list[Part] = []
    if view.window:
        assumed = "?" if view.assumed else ""
        limit = f"{'~' if view.window_inferred else ''}{format_tokens(view.window)}{assumed}"
        used = f"{'~' if view.estimated else ''}{format_tokens(view.used)} of {limit}"
        right = [
            (used, palette.rich("t2", ground)),
            ("  ", fill),
            (format_percent(view.fraction), meter_style(palette, view, ground, bold=True)),
        ]
    elif view.used:
        right = [(f"{format_tokens(view.used)} tokens", palette.rich("t2", ground))]
    rows = [row(width, [("  ", fill), ("Context", bold)], right, fill=fill)]
    if not view.used:
        quiet = palette.rich("t3", ground)
        return [*rows, row(width, [("  ", fill), ("Empty until the first message.", quiet)], fill=fill)][
            :most
        ]
    if view.window:
        cells = width - 4
        rows.append(row(width, [("  ", fill), *bar(palette, looks.symbols, view, cells, ground)], fill=fill))
        rows.append(row(width, [("  " + tick_labels(view, cells), palette.rich("t3", ground))], fill=fill))
    room = most - len(rows) - 1
    rows += _sections(view, looks, width, max(0, room), ground)
    if view.window:
        style = palette.rich(meter_role(view), ground, bold=view.level in ("over", "compaction"))
        rows.append(row(width, [("  ", fill), (words(view), style)], fill=fill))
    return rows[:most]


def _sections(view: "ContextMeterView", looks: Looks, width: int, most: int, ground: Role) -> list[Strip]:
    palette = looks.palette
    fill = palette.rich("t1", ground)
    thousands = view.used >= KILO
    # In tenths of a thousand, as the figures are written; plain below a thousand, as in the head.
    sections = view.scaled_sections(round_to_tenths(view.used) if thousands else view.used)
    if len(sections) > most:
        largest = sorted(sections, key=lambda section: -section.tokens)[:most]
        sections = tuple(section for section in sections if section in largest)
    top = max((section.tokens for section in sections), default=1)
    longest = max(4, width - 30)
    rows: list[Strip] = []
    for section in sections:
        name = fit(clean_line(section.name), 14, looks.symbols.ellipsis)
        number = format_thousands(section.tokens * KILO // 10) if thousands else str(section.tokens)
        cells = max(1, round(section.tokens * longest / top))
        left: list[Part] = [
            ("  ", fill),
            part(name.ljust(14), palette.rich("t2", ground)),
            (number.rjust(6), palette.rich("t1", ground)),
            ("  ", fill),
            (looks.symbols.meter_full * cells, palette.rich("border-strong", ground)),
        ]
        rows.append(row(width, left, fill=fill))
    return rows
