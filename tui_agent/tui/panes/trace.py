"""The trace pane as rows: the newest turn with the work in it, and one row for each older turn.

Invariant: all functions are pure; the newest rows are always visible, and only rows that fit are drawn.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.tui.panes.spans import (
    duration,
    is_folded,
    is_group,
    is_notable,
    label,
    state_symbol,
    tokens,
    visible_spans,
)
from tui_agent.tui.text import fit
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import Part, Pen, cells
from tui_agent.units import format_cost

if TYPE_CHECKING:
    from tui_agent.folds.trace.spans import Span, TraceView

EMPTY = "Nothing has run."
COLUMNS_FROM = 46
"""Minimum width of the pane, in cells, for separate columns of tokens and cost."""


def trace_rows(
    view: "TraceView", folds: Mapping[int, bool], looks: Looks, width: int, most: int, now: float
) -> list[Strip]:
    """Return the title row and the spans of the trace in at most `most` rows.

    If the rows do not suffice, finished iterations are folded, then the oldest rows are left out.
    """
    pen = Pen(looks, "s1")
    failed = f"{view.failed} failed" if view.failed else ""
    title = [pen.part("  "), pen.part("Trace", bold=True, intent="trace")]
    head = pen.line(width, title, [pen.part(failed, "error")])
    if not view.roots:
        return [head, pen.line(width, [pen.part("  " + EMPTY, "t3")])][:most]
    room = max(1, most - 1)
    drawn = folds_of_pane(view, folds, room)
    indices = visible_spans(view, drawn, view.roots[-room:])
    if len(indices) > room:
        # Keep the newest turn's own row visible above its newest rows.
        newest, indices = view.roots[-1], indices[-room:]
        indices = indices if newest in indices else [newest, *indices[1:]]
    return [head, *(_span_row(view.spans[index], view, drawn, pen, width, now) for index in indices)]


def folds_of_pane(view: "TraceView", folds: Mapping[int, bool], room: int) -> dict[int, bool]:
    """Return the spans that are folded (True) or unfolded (False) in the pane.

    Older turns are folded unless the user unfolded them. If the newest turn needs more than `room` rows, its finished
    iterations are folded, from the top.
    """
    recent = view.roots[-max(2, room) :]
    drawn = {**dict.fromkeys(recent[:-1], True), **folds}
    last = view.spans[view.roots[-1]]
    shown = len(visible_spans(view, drawn, recent))
    for index in last.children[:-1]:
        if shown <= room:
            break
        span = view.spans[index]
        if index not in drawn and span.children and not is_notable(span, view):
            shown -= len(visible_spans(view, drawn, [index])) - 1
            drawn[index] = True
    return drawn


def _span_row(
    span: "Span", view: "TraceView", folds: Mapping[int, bool], pen: Pen, width: int, now: float
) -> Strip:
    """Draw the row of a span: fold mark, state, name, and then tokens, cost and duration in columns."""
    symbols = pen.looks.symbols
    folded = is_folded(span, view, folds)
    mark = (symbols.folded if folded else symbols.open) if span.children else " "
    toggle = [pen.part(mark, "t3", intent=f"fold {span.index}"), pen.part(" ")]
    running = span.state == "running"
    if is_group(span):
        left = [pen.part("  " + " " * min(span.depth, 1)), *toggle]
        role: Role = "t1" if span.kind == "turn" or running else "t2"
    else:
        left = [pen.part("  ")]
        symbol, symbol_role = state_symbol(span, symbols)
        # The symbol of a span next to the turns, such as a summary, is aligned with theirs.
        if span.depth or span.children:
            indent = 2 + 2 * max(0, min(span.depth, 8) - 2) if span.depth else 0
            left += [pen.part(" " * indent), *toggle]
        left.append(pen.part(f"{symbol} ", symbol_role))
        role = "t1" if running else "t3" if span.state == "queued" else "t2"
    name = label(span, folded=folded)
    right = _measures(span, pen, width, now, costs=view.has_costs)
    name = fit(name, max(6, width - cells(left) - cells(right) - 4), symbols.ellipsis)
    left.append(pen.part(name, role, bold=span.kind == "turn", intent=f"span {span.index}"))
    is_root = span.kind == "turn" or not span.depth
    if is_root and width < COLUMNS_FROM and span.cost_usd is not None:
        left.append(pen.part("   " + format_cost(span.cost_usd), "t3"))
    return pen.line(width, left, right)


def _measures(span: "Span", pen: Pen, width: int, now: float, *, costs: bool) -> list[Part]:
    time = pen.part(f" {duration(span, now)}".rjust(7), "t2" if is_group(span) else "t3")
    if width < COLUMNS_FROM:
        return [time]
    sent = "" if span.kind == "turn" else tokens(span, span.tokens_in)
    cost = [pen.part(format_cost(span.cost_usd).rjust(8), "t3")] if costs else []
    return [pen.part(sent.rjust(6), "t3"), time, *cost]
