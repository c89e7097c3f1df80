"""The trace in full: every span with its measures and its place in time, filters, and the details of one.

Invariant: only rows in sight are drawn, so fifty thousand spans scroll like ten; following a live session keeps the
chosen span chosen.
"""

from collections.abc import Sequence
from typing import ClassVar

from textual.strip import Strip

from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.protocol.commands import Interrupt
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Scope
from tui_agent.tui.context import AppContext
from tui_agent.tui.screens.page import Page
from tui_agent.tui.screens.trace.span_detail import detail_rows, open_events, plain_text
from tui_agent.tui.screens.trace.span_list import FILTERS, SpanList
from tui_agent.tui.widgets.rows import Part, cells, doing, part, row
from tui_agent.units import format_cost, format_duration

FOLLOW_S = 0.25


class TraceScreen(Page):
    """The trace; its keys are in the registry, scope `trace`."""

    scope: ClassVar[Scope] = "trace"
    key_methods = {
        "span": "move",
        "fold": "fold",
        "fold_or_open": "fold",
        "filter": "show_only",
        "json": "show_events",
        "show_in_chat": "show_in_chat",
        "copy_span": "copy",
        "stop_span": "stop",
        "leave_trace": "leave",
        "trace": "leave",
    }

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.listing = self.spans = SpanList(self.looks_of)
        self.head.columns = self._columns
        self._can_stop: bool | None = None
        """A subtask runs that could be stopped."""
        self._stand: object = None

    def on_mount(self) -> None:
        self.follow()
        self.spans.to_newest()
        self.set_interval(FOLLOW_S, self.follow)

    @property
    def detail_width(self) -> int:
        width = self.app.size.width
        return 54 if width >= 180 else 46 if width >= 140 else 40

    def _fit(self) -> None:
        super()._fit()
        self.footer.styles.margin = 0  # a row more of spans

    def show_keys(self) -> None:
        can_stop = self.chosen is not None and self._is_running(self.chosen)
        if can_stop != self._can_stop:
            self._can_stop = can_stop
            self.footer.set_keys(self.key_map.hints("trace", running=can_stop))

    def _is_running(self, span: Span) -> bool:
        """Return True if the subtask that the span belongs to still works."""
        return any(delegate.agent == span.agent for delegate in self.context.state.delegates)

    def follow(self) -> None:
        """Show the session's newest spans."""
        view: TraceView = self.context.views.trace.view()
        older = self.context.sessions.older
        stand = (id(self.context.views), view.revision, older)
        if stand == self._stand and not self.context.running:
            return
        self._stand = stand
        self.head.notice = part(older, self.style("warning"))
        self.spans.set_view(view, self.context.app.clock())
        self.show_head()
        self.header.set_views(self.context.state, self.context.views.meter.view())
        self.show_detail()

    @property
    def chosen(self) -> Span | None:
        """The span under the cursor."""
        return self.spans.chosen_span

    # -- drawing ---------------------------------------------------------------------------------------------------

    def show_head(self) -> None:
        view, gap = self.spans.view, ("   ", self.style())
        title: list[Part] = [("Trace", self.style(bold=True)), gap]
        for number, name in enumerate(FILTERS):
            count = {"failed": view.failed, "denied": view.denied}.get(name, 0)
            chosen = name == self.spans.filter
            style = self.style("accent" if chosen else "t2", bold=chosen, underline=chosen)
            title += [(name, doing(style, f"filter {number}")), (f" {count}" if count else "", style), gap]
        cost = format_cost(self.context.views.metrics.view().cost_usd)
        totals = [part(f"{format_count(view.turns, 'turn')}   {cost}", self.style("t2"))]
        self.head.title = title
        self.head.right = totals if cells(title) + cells(totals) + 6 <= self.left.size.width else ()
        self.head.show()

    def _columns(self, width: int) -> Strip:
        quiet = self.style("t3")
        columns = self.spans.columns
        right: list[Part] = [("".join(columns.cells("in", "out", "time", "cost")), quiet)]
        if columns.bar:
            start, end = self.spans.scale()
            right.append(("  0 s" + format_duration(end - start).rjust(columns.bar - 3), quiet))
        return row(width, [("    span", quiet)], right, fill=self.style())

    def show_detail(self) -> None:
        super().show_detail()
        self.show_keys()

    def detail_rows(self, width: int) -> list[Strip]:
        span = self.chosen
        return [] if span is None else detail_rows(span, self.spans.view, self.context, width)

    # -- keys ------------------------------------------------------------------------------------------------------

    def key_scopes(self) -> Sequence[Scope]:
        return "trace", "rows"

    def enter(self) -> None:
        """Do nothing on a press on the chosen row."""

    def fold(self, direction: int = 0) -> None:
        """Fold the chosen span, or open it; without a direction the other of the two."""
        self.spans.fold(folded=direction < 0 if direction else None)

    def show_events(self) -> bool:
        """Show the events of the chosen span as JSON; return False if no span is chosen."""
        if self.chosen is not None:
            open_events(self.context, self.chosen)
        return self.chosen is not None

    def copy(self) -> bool:
        """Copy the facts of the chosen span; return False if no span is chosen."""
        if self.chosen is not None:
            self.context.app.copy_text(plain_text(self.chosen, self.context))
        return self.chosen is not None

    def show_in_chat(self) -> None:
        """Show the chosen span in the chat; where it has no detail here, its events."""
        span = self.chosen
        if span is None:
            return
        if not self.detail.display:
            self.show_events()
            return
        self.dismiss(None)
        self.context.chat.show_seq(span.first_seq)

    def stop(self) -> None:
        """Stop the subtask that the chosen span belongs to, and nothing else."""
        span = self.chosen
        if span is not None and self._is_running(span):
            self.context.submit(Interrupt(scope="agent", agent=span.agent))
        elif span is not None:
            self.say("That subtask is not running.", "warning")

    def show_only(self, index: int) -> None:
        """Show only the spans of this filter."""
        self.spans.set_filter(FILTERS[index])
        self.show_head()
        self.show_detail()

    def take_intent(self, name: str, argument: str) -> None:
        if name == "filter" and argument.isdigit():
            self.show_only(int(argument))
        elif name == "json":
            self.show_events()
