"""The rows of the trace screen: spans in columns, with a bar in real time proportion.

Invariant: a row is drawn when it is seen; the order is the view's; a filter hides rows, it changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rich.style import Style
from textual import events
from textual.strip import Strip

from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.tui.panes.spans import is_folded, is_group, label, state_symbol, tokens, took, visible
from tui_agent.tui.text import clean_line, fit
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.keymap import key_map_of
from tui_agent.tui.widgets.listing import Listing
from tui_agent.tui.widgets.rows import Part, cells, doing, intent_of, part, row
from tui_agent.units import format_cost

Filter: TypeAlias = Literal["all", "model", "tools", "failed", "denied", "slow"]
FILTERS: Final[tuple[Filter, ...]] = ("all", "model", "tools", "failed", "denied", "slow")
SLOW_S: Final = 5.0
WATERFALL_FROM: Final = 96
NAME_CELLS: Final = 48
LONG_S: Final = 59.5
"""From here on a duration has two units, and its column is wider."""
_BARS: Final[dict[str, Role]] = {"model": "accent", "tool": "success", "subtask": "accent"}


def passes(span: Span, wanted: Filter) -> bool:
    """Whether a filter shows a span."""
    match wanted:
        case "all":
            return True
        case "model":
            return span.kind == "model"
        case "tools":
            return span.kind in ("tool", "subtask")
        case "failed":
            return span.state == "failed" and not is_group(span)
        case "denied":
            return span.state == "denied" and not is_group(span)
        case "slow":
            return not is_group(span) and (span.duration_ms or 0.0) >= SLOW_S * 1000


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells of the measures of a row; 0 for one that there is no room for. `bar` is the waterfall."""

    tokens: int
    time: int
    cost: int
    bar: int

    @classmethod
    def of(cls, width: int, *, long: bool) -> "Columns":
        """What fits in a list of this width. `long`: some turn took a minute or more."""
        tokens = 7 if width >= 72 else 0
        time = 12 if long else 9
        cost = 9 if width >= 60 else 0
        measures = 2 * tokens + time + cost
        return cls(tokens, time, cost, width - measures - NAME_CELLS if width >= WATERFALL_FROM else 0)

    def cells(self, tokens_in: str, tokens_out: str, time: str, cost: str) -> tuple[str, str, str, str]:
        """The texts in their columns, each at the right edge of its own and never touching the one before it."""
        wide = (self.tokens, self.tokens, self.time, self.cost)
        texts = (tokens_in, tokens_out, time, cost)
        first, second, third, last = (
            f" {text}".rjust(cells) if cells else "" for text, cells in zip(texts, wide, strict=True)
        )
        return first, second, third, last


class SpanList(Listing):
    """The spans that pass the filter, one chosen."""

    rows_below = 2

    def __init__(self, looks: Callable[[], Looks]) -> None:
        super().__init__(looks, self._row)
        self.view = TraceView((), ())
        self.filter: Filter = "all"
        self.folds: dict[int, bool] = {}
        self.shown: Sequence[int] = ()
        self.now = 0.0
        self.on_row_drawn: Callable[[int], None] | None = None
        """Called with every row that is made (for those who count)."""

    # -- content ---------------------------------------------------------------------------------------------------

    def set_view(self, view: TraceView, now: float) -> None:
        """Newer spans; the chosen one stays chosen."""
        held = self.chosen_span
        was_last = self.at >= len(self.shown) - 1
        self.view, self.now = view, now
        self._list()
        if held is not None and not was_last and held.index in self.shown:
            self.at = self.shown.index(held.index)
        elif was_last:
            self.set_count(self.count, self.count)

    def set_filter(self, wanted: Filter) -> None:
        """Show only these; asked for again, all."""
        self.filter = "all" if wanted == self.filter else wanted
        self._list()
        self.set_count(self.count, self.count)

    def _list(self) -> None:
        if self.filter == "all":
            self.shown = visible(self.view, self._folds(), self.view.roots)
        else:
            self.shown = [span.index for span in self.view.spans if passes(span, self.filter)]
        self.set_count(len(self.shown), self.at, reveal=False)

    def _folds(self) -> dict[int, bool]:
        folds = dict.fromkeys(self.view.roots[:-3], True)
        folds.update(self.folds)
        return folds

    @property
    def chosen_span(self) -> Span | None:
        """The span under the cursor."""
        return self.view.spans[self.shown[self.at]] if self.at < len(self.shown) else None

    def to_newest(self) -> None:
        """Choose the newest."""
        self.set_count(self.count, self.count)
        self.post_message(self.Chosen())

    # -- drawing ---------------------------------------------------------------------------------------------------

    def _style(self, role: Role, ground: Role = "s0", *, bold: bool = False) -> Style:
        return self._looks().palette.rich(role, ground, bold=bold)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        at = y + self.scroll_offset.y
        if not self.shown and at == 0:
            said = (
                "Nothing has run."
                if self.filter == "all"
                else f"No span is {self.filter}. {key_map_of(self.app).key_of('filter')} shows all."
            )
            return row(width, [(f"    {said}", self._style("t3"))], fill=self._style("t1"))
        if at == len(self.shown) + 1 and width >= WATERFALL_FROM and self.shown:
            return self._legend(width)
        return super().render_line(y)

    def _legend(self, width: int) -> Strip:
        symbol = self._looks().symbols.meter_full
        left: list[Part] = [("    ", self._style("t1"))]
        for name, role in (
            ("model", "accent"),
            ("tool", "success"),
            ("group", "border-strong"),
            ("failed", "error"),
            ("denied", "warning"),
        ):
            left += [(symbol, self._style(role)), (f" {name}   ", self._style("t2"))]  # type: ignore[arg-type]
        return row(width, left, fill=self._style("t1"))

    def _row(self, at: int, width: int, chosen: bool) -> Strip:
        if self.on_row_drawn is not None:
            self.on_row_drawn(at)
        span = self.view.spans[self.shown[at]]
        ground: Role = "selection" if chosen else "s0"
        looks = self._looks()
        fill = self._style("t1", ground)
        folded = is_folded(span, self.view, self._folds())
        mark = (
            (looks.symbols.folded if folded else looks.symbols.open)
            if span.children and self.filter == "all"
            else " "
        )
        indent = 2 * min(span.depth, 10) if self.filter == "all" else 0
        left: list[Part] = [
            (looks.symbols.chosen if chosen else " ", self._style("accent", ground)),
            ("   " + " " * indent, fill),
            (mark, doing(self._style("t3", ground), f"fold {span.index}")),
            (" ", fill),
        ]
        if not is_group(span):
            symbol, role = state_symbol(span, looks.symbols)
            left += [(symbol, self._style(role, ground)), (" ", fill)]
        name_role: Role = "t1" if span.kind in ("turn", "iteration") or chosen else "t2"
        name = label(span, self.view, folded=folded, full=True)
        columns = self.columns
        right = self._measures(span, columns, ground)
        if columns.bar:
            right = [*right, ("  ", fill), *self._bar(span, columns.bar, ground)]
        room = max(8, width - cells(right) - 4 - cells(left))
        bold = span.kind == "turn" or chosen
        outcome = clean_line(span.outcome) if span.state in ("failed", "denied", "interrupted") else ""
        name = fit(name, max(6, room - (len(outcome) + 3 if outcome else 0)), looks.symbols.ellipsis)
        left.append((name, self._style(name_role, ground, bold=bold)))
        if outcome:
            left.append(
                part("   " + outcome, self._style("error" if span.state == "failed" else "warning", ground))
            )
        return row(width, left, right, fill=fill, ellipsis=looks.symbols.ellipsis)

    @property
    def columns(self) -> Columns:
        """Where the measures of every row stand."""
        newest = self.view.spans[self.view.roots[-1]] if self.view.roots else None
        running = newest is not None and newest.end is None
        lasts = (self.now - newest.start) * 1000 if newest is not None and running else 0.0
        return Columns.of(self.size.width, long=max(lasts, self.view.longest_ms) >= LONG_S * 1000)

    def _measures(self, span: Span, columns: Columns, ground: Role) -> list[Part]:
        tokens_in, tokens_out, time, cost = columns.cells(
            tokens(span, span.tokens_in),
            tokens(span, span.tokens_out),
            took(span, self.now),
            format_cost(span.cost_usd),
        )
        # A span without tokens leaves their cells to a long name.
        said = [(tokens_in, "t2"), (tokens_out, "t2"), (time, "t1"), (cost, "t3")]
        shown = said if (tokens_in + tokens_out).strip() else said[2:]
        return [(text, self._style(role, ground)) for text, role in shown]  # type: ignore[arg-type]

    def _bar(self, span: Span, room: int, ground: Role) -> list[Part]:
        start, end = self.scale()
        whole = max(end - start, 1e-6)
        fill = self._style("t1", ground)
        if span.start > end or (span.end or self.now) < start:
            return [(" " * room, fill)]
        first = min(room - 1, max(0, int((span.start - start) / whole * room)))
        last = min(room, max(first + 1, round(((span.end or self.now) - start) / whole * room)))
        role: Role = {"failed": "error", "denied": "warning", "interrupted": "warning"}.get(
            span.state, _BARS.get(span.kind, "border-strong")
        )  # type: ignore[assignment]
        if is_group(span):
            role = "border-strong"
        return [
            (" " * first, fill),
            (self._looks().symbols.meter_full * (last - first), self._style(role, ground)),
            (" " * (room - last), fill),
        ]

    def scale(self) -> tuple[float, float]:
        """Start and end of the turn of the chosen span."""
        span = self.chosen_span
        if span is None:
            return 0.0, 1.0
        while span.parent is not None:
            span = self.view.spans[span.parent]
        return span.start, span.end if span.end is not None else self.now

    # -- moving ----------------------------------------------------------------------------------------------------

    def choose(self, at: int) -> None:
        """Choose this span; the time scale is that of its turn."""
        scale = self.scale()
        super().choose(at)
        if self.scale() != scale:
            self.refresh()

    def fold(self, *, folded: bool | None) -> None:
        """Fold the chosen span, or open it; None for the other of the two."""
        span = self.chosen_span
        if span is None:
            return
        if not span.children or (folded and is_folded(span, self.view, self._folds())):
            if folded and span.parent is not None and span.parent in self.shown:
                self.choose(self.shown.index(span.parent))
            return
        self._set_fold(
            span.index, not is_folded(span, self.view, self._folds()) if folded is None else folded
        )

    def _set_fold(self, index: int, folded: bool) -> None:
        self.folds[index] = folded
        self._list()
        if index in self.shown:
            self.at = self.shown.index(index)
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Fold or open the span whose mark was pressed; any other press is the list's."""
        name, _, index = intent_of(event.style).partition(" ")
        if name == "fold":
            event.stop()
            event.prevent_default()
            span = self.view.spans[int(index)]
            self._set_fold(span.index, not is_folded(span, self.view, self._folds()))
