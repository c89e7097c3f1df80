"""The trace screen: a list of all spans (turns, iterations, calls) with their measures, filters, and a span's details.

Invariant: only visible rows are drawn, so scrolling is fast with any number of spans.
"""

from textual.strip import Strip

from tui_agent.folds.trace.spans import Span
from tui_agent.protocol.commands import Interrupt
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.context import AppContext
from tui_agent.tui.screens.page import Page
from tui_agent.tui.screens.trace.span_detail import draw_span, open_events, plain_text
from tui_agent.tui.screens.trace.span_list import FILTERS, SpanList
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Part, cells, part, row
from tui_agent.units import format_cost, format_duration


class TraceScreen(Page[int]):
    """The trace screen. The items of its list are indices of spans."""

    scope = "trace"
    follow_s = 0.25
    opens_above = frozenset({"help", "context"})
    key_methods = {"trace": "leave"}

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.listing = self.spans = SpanList()
        self._can_stop: bool | None = None
        """True if the footer shows the key to stop the selected subtask. None before the footer is drawn."""

    def on_mount(self) -> None:
        self.follow()
        self.spans.to_newest()

    @property
    def detail_width(self) -> int:
        width = self.app.size.width
        return 54 if width >= 180 else 46 if width >= 140 else 40

    def fit(self) -> None:
        super().fit()
        self.footer.styles.margin = 0  # The list gets the footer's margin as one more row.

    def show_keys(self) -> None:
        span = self.subject
        can_stop = span is not None and self._is_running(span)
        if can_stop != self._can_stop:
            self._can_stop = can_stop
            self.footer.set_keys(self.key_map.hints("trace", running=can_stop))

    def _is_running(self, span: Span) -> bool:
        """Return True if the span's subtask is running."""
        return any(delegate.agent == span.agent for delegate in self.context.state.delegates)

    def follow(self) -> None:
        """Update the screen if the session has new spans or a turn is running."""
        view, progress = self.context.views.trace.view(), self.context.sessions.load_progress
        if (
            not self.is_changed(id(self.context.views), view.revision, progress)
            and not self.context.is_running
        ):
            return
        self.head.notice = part(progress, self.style("warning"))
        self.spans.set_view(view, self.context.app.clock())
        self.show_head()
        self.show_session()
        self.show_detail()

    # -- drawing ---------------------------------------------------------------------------------------------------

    def show_head(self) -> None:
        view = self.spans.view
        counts = {"failed": view.failed, "denied": view.denied}
        names = [(name, counts.get(name, 0)) for name in FILTERS]
        self.head.title = self.filter_parts("Trace", names, FILTERS.index(self.spans.filter))
        state = self.context.state
        cost = format_cost(state.cost_usd, state.cost_precision, short=True)
        totals = [part(f"{format_count(view.turns, 'turn')}   {cost}", self.style("t2"))]
        room = self.left.size.width - cells(self.head.title) - 6
        self.head.right = totals if cells(totals) <= room else ()
        self.head.show()

    def column_names(self, width: int) -> Strip:
        quiet = self.style("t3")
        columns = self.spans.columns
        right: list[Part] = [("".join(columns.cells("max in", "out", "time", "cost")), quiet)]
        if columns.bar:
            start, end = self.spans.scale()
            right.append(("  0 s" + format_duration(end - start).rjust(columns.bar - 3), quiet))
        return row(width, [("    span", quiet)], right, fill=self.style())

    def draw_detail(self, facts: Facts, span: Span) -> None:
        draw_span(facts, span, self.spans.view, self.context)

    # -- keys ------------------------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Do nothing, because a click on the selected row has no action here."""

    @property
    def subject(self) -> Span | None:
        return self.spans.chosen_span

    def fold(self, direction: int = 0) -> None:
        """Fold the selected span if `direction` is -1, unfold it if 1. If 0, switch between the two."""
        self.spans.fold(folded=direction < 0 if direction else None)

    def show_events(self, span: Span) -> None:
        open_events(self.context, span)

    def copy(self, span: Span) -> None:
        self.copy_text(plain_text(span, self.context))

    def show_in_chat(self, span: Span) -> None:
        self.leave()
        self.context.chat.show_seq(span.first_seq)

    def stop(self, span: Span) -> None:
        if self._is_running(span):
            self.context.submit(Interrupt(scope="agent", agent=span.agent))
        else:
            self.say("Select the row of a running subtask first.", "warning")

    def show_only(self, index: int) -> None:
        """Set the filter with this index in `FILTERS`."""
        self.spans.set_filter(FILTERS[index])
        self.show_head()
        self.show_detail()

    def run_intent(self, name: str, argument: str) -> None:
        if name == "filter" and argument.isdigit():
            self.show_only(int(argument))
        elif name == "json":
            self.on_chosen("show_events")
