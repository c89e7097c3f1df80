"""The rows of the trace screen. Each shows a span in columns, and a bar for its duration.

Invariant: a row is drawn only when it becomes visible.
"""

from typing import Final, Literal, TypeAlias, get_args

from textual import events
from textual.strip import Strip

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.tui.panes.trace import (
    duration,
    is_folded,
    is_group,
    label,
    state_symbol,
    tokens,
    visible_spans,
)
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean_line, fit
from tui_agent.tui.widgets.keymap import key_map_of
from tui_agent.tui.widgets.lists import ChoiceList
from tui_agent.tui.widgets.rows import Part, Pen, cells, intent_of, list_pen, part, with_intent
from tui_agent.units import format_cost

Filter: TypeAlias = Literal["all", "model", "tools", "failed", "denied", "slow"]
FILTERS: Final[tuple[Filter, ...]] = get_args(Filter)
SLOW_S: Final = 5.0
"""A call is slow if it takes at least this many seconds."""
WATERFALL_FROM: Final = 96
"""Minimum width of the list, in cells, for bars."""
NAME_CELLS: Final = 48
MIN_LONG_DURATION_S: Final = 59.5
"""A duration of at least this many seconds is written with two units, e.g. `1 min 5 s`."""
_BARS: Final[dict[str, Role]] = {"model": "accent", "tool": "success", "subtask": "accent"}
_STATE_BARS: Final[dict[str, Role]] = {"failed": "error", "denied": "warning", "interrupted": "warning"}
_LEGEND: Final[tuple[tuple[str, Role], ...]] = (
    ("model", "accent"),
    ("tool", "success"),
    ("group", "border-strong"),
    ("failed", "error"),
    ("denied", "warning"),
)


def is_shown(span: Span, chosen: Filter) -> bool:
    """Return True if the filter `chosen` shows the span."""
    match chosen:
        case "all":
            return True
        case "model":
            return span.kind == "model"
        case "tools":
            return span.kind in ("tool", "subtask")
        case "failed" | "denied":
            return span.state == chosen and not is_group(span)
        case "slow":
            return not is_group(span) and (span.duration_ms or 0.0) >= SLOW_S * 1000


@dataclass(frozen=True, slots=True)
class SpanColumns:
    """Widths of the columns after a span's name, in cells. A column without room has the width 0.

    `bar`: the column with bars on a common time scale.
    """

    tokens: int
    time: int
    cost: int
    bar: int

    @classmethod
    def for_width(cls, width: int, *, long: bool, costs: bool) -> "SpanColumns":
        """Return the widths for a list of this width.

        - `long`: True if a turn took a minute or more
        - `costs`: True if there is a cost to show
        """
        tokens = 7 if width >= 72 else 0
        time = 12 if long else 9
        cost = 9 if width >= 60 and costs else 0
        measures = 2 * tokens + time + cost
        return cls(tokens, time, cost, width - measures - NAME_CELLS if width >= WATERFALL_FROM else 0)

    def cells(self, tokens_in: str, tokens_out: str, time: str, cost: str) -> list[str]:
        """Return the texts, each right-aligned in its column. If a column has no room, its text is empty."""
        widths = (self.tokens, self.tokens, self.time, self.cost)
        texts = (tokens_in, tokens_out, time, cost)
        return [f" {text}".rjust(cells) if cells else "" for text, cells in zip(texts, widths, strict=True)]


class SpanList(ChoiceList[int]):
    """The list of spans that pass the filter. Its items are indexes into the trace."""

    rows_below = 2

    def __init__(self) -> None:
        super().__init__(self._draw_span)
        self.view = TraceView((), ())
        self.filter: Filter = "all"
        self.folds: dict[int, bool] = {}
        self.now = 0.0

    # -- content ---------------------------------------------------------------------------------------------------

    def set_view(self, view: TraceView, now: float) -> None:
        """Show the spans of `view`, a newer state of the trace.

        If the last span was selected, select the new last span.
        """
        was_last = self.index >= len(self.items) - 1
        self.view, self.now = view, now
        self._show_spans()
        if was_last:
            self.select(len(self.items))

    def set_filter(self, chosen: Filter) -> None:
        """Show only the spans that pass the filter `chosen`. If the filter is already set, show all spans."""
        self.filter = "all" if chosen == self.filter else chosen
        self._show_spans()
        self.select(len(self.items))

    def _show_spans(self) -> None:
        spans = self.view.spans
        key = key_map_of(self.app).key_of("filter")
        if self.filter == "all":
            self.empty_text = "Nothing has run."
            shown = visible_spans(self.view, self._folds(), self.view.roots)
        else:
            self.empty_text = f"No span matches the filter `{self.filter}`. {key} shows all spans."
            shown = [span.index for span in spans if is_shown(span, self.filter)]
        self.set_items(shown, otherwise=self.index, reveal=False)

    def _folds(self) -> dict[int, bool]:
        # By default, all turns but the newest three are folded.
        return dict.fromkeys(self.view.roots[:-3], True) | self.folds

    @property
    def chosen_span(self) -> Span | None:
        """The selected span; None if the list is empty."""
        return None if self.chosen is None else self.view.spans[self.chosen]

    def to_newest(self) -> None:
        """Select the newest span."""
        self.select(len(self.items))
        self.post_message(self.Chosen())

    # -- drawing ---------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        number, width = y + self.scroll_offset.y, self.size.width
        if number == len(self.items) + 1 and width >= WATERFALL_FROM and self.items:
            line, symbol = list_pen(self.looks), self.looks.symbols.meter_full
            parts: list[Part] = [("    ", line.style())]
            for name, role in _LEGEND:
                parts += [(symbol, line.style(role)), (f" {name}   ", line.style("t2"))]
            return line.line(width, parts)
        return super().render_line(y)

    def _draw_span(self, index: int, width: int, line: Pen) -> Strip:
        span = self.view.spans[index]
        symbols, chosen = line.looks.symbols, line.chosen
        folded = is_folded(span, self.view, self._folds())
        as_tree = self.filter == "all"
        mark = (symbols.folded if folded else symbols.open) if span.children and as_tree else " "
        left: list[Part] = [
            line.mark,
            ("  " + "  " * min(span.depth, 10) * as_tree, line.style()),
            (mark, with_intent(line.style("t3"), f"fold {span.index}")),
            (" ", line.style()),
        ]
        if not is_group(span):
            symbol, state_role = state_symbol(span, symbols)
            left += [(symbol, line.style(state_role)), (" ", line.style())]
        columns = self.columns
        right = self._measures(span, columns, line)
        if columns.bar:
            right += [("  ", line.style()), *self._bar(span, columns.bar, line)]
        room = max(8, width - cells(right) - 4 - cells(left))
        outcome = clean_line(span.outcome) if span.state in _STATE_BARS else ""
        name = label(span, folded=folded, full=True)
        name = fit(name, max(6, room - (len(outcome) + 3 if outcome else 0)), symbols.ellipsis)
        name_role: Role = "t1" if span.kind in ("turn", "iteration") or chosen else "t2"
        left.append((name, line.style(name_role, bold=span.kind == "turn" or chosen)))
        if outcome:
            left.append(part("   " + outcome, line.style(_STATE_BARS[span.state])))
        return line.line(width, left, right)

    @property
    def columns(self) -> SpanColumns:
        """The widths of the columns, the same in every row."""
        newest = self.view.spans[self.view.roots[-1]] if self.view.roots else None
        running = newest is not None and newest.end is None
        elapsed_ms = (self.now - newest.start) * 1000 if newest is not None and running else 0.0
        long = max(elapsed_ms, self.view.longest_ms) >= MIN_LONG_DURATION_S * 1000
        return SpanColumns.for_width(self.size.width, long=long, costs=self.view.has_costs)

    def _measures(self, span: Span, columns: SpanColumns, line: Pen) -> list[Part]:
        tokens_in, tokens_out, time, cost = columns.cells(
            tokens(span, span.tokens_in),
            tokens(span, span.tokens_out),
            duration(span, self.now),
            format_cost(span.cost_usd, span.cost_precision, short=True),
        )
        parts: list[Part] = [(time, line.style()), (cost, line.style("t3"))]
        # A span without tokens uses their cells for a long name.
        if (tokens_in + tokens_out).strip():
            parts.insert(0, (tokens_in + tokens_out, line.style("t2")))
        return parts

    def _bar(self, span: Span, room: int, line: Pen) -> list[Part]:
        start, end = self.scale()
        total = max(end - start, 1e-6)
        span_end = span.end or self.now
        if span.start > end or span_end < start:
            return [(" " * room, line.style())]
        first = min(room - 1, max(0, int((span.start - start) / total * room)))
        last = min(room, max(first + 1, round((span_end - start) / total * room)))
        role: Role = _STATE_BARS.get(span.state, _BARS.get(span.kind, "border-strong"))
        if is_group(span):
            role = "border-strong"
        return [
            (" " * first, line.style()),
            (self.looks.symbols.meter_full * (last - first), line.style(role)),
            (" " * (room - last), line.style()),
        ]

    def scale(self) -> tuple[float, float]:
        """Return the start and end time of the selected span's turn, in seconds since the epoch."""
        span = self.chosen_span
        if span is None:
            return 0.0, 1.0
        while span.parent is not None:
            span = self.view.spans[span.parent]
        if (
            span.kind != "turn"
        ):  # A span between two turns, such as a summary, has the time scale of the turn before.
            before = (self.view.spans[index] for index in reversed(self.view.roots) if index < span.index)
            span = next((root for root in before if root.kind == "turn"), span)
        return span.start, span.end if span.end is not None else self.now

    # -- moving ----------------------------------------------------------------------------------------------------

    def choose(self, index: int) -> None:
        """Select the span in the row `index`, and draw the bars on the time scale of its turn."""
        scale = self.scale()
        super().choose(index)
        if self.scale() != scale:
            self.refresh()

    def fold(self, *, folded: bool | None) -> None:
        """Fold (True) or unfold (False) the selected span, or switch between the two (None).

        Folding a span that is already folded selects its parent.
        """
        span = self.chosen_span
        if span is None:
            return
        is_closed = is_folded(span, self.view, self._folds())
        if span.children and not (folded and is_closed):
            self._set_fold(span.index, not is_closed if folded is None else folded)
        elif folded and span.parent is not None and span.parent in self.items:
            self.choose(self.items.index(span.parent))

    def _set_fold(self, index: int, folded: bool) -> None:
        self.folds[index] = folded
        self._show_spans()
        if index in self.items:
            self.select(self.items.index(index), reveal=False)

    def on_click(self, event: events.Click) -> None:
        """Fold or unfold the span with the clicked fold mark; pass other clicks to the list."""
        name, _, index = intent_of(event.style).partition(" ")
        if name == "fold":
            event.stop()
            event.prevent_default()
            span = self.view.spans[int(index)]
            self._set_fold(span.index, not is_folded(span, self.view, self._folds()))
