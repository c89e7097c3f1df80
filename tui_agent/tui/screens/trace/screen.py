"""The trace in full: every span with its measures and its place in time, filters, and what is known of one.

Invariant: only rows in sight are drawn, so fifty thousand spans scroll like ten; following a live session keeps the
chosen span chosen.
"""

from collections.abc import Sequence
from typing import Literal

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.protocol.commands import Interrupt
from tui_agent.tui.actions import Scope
from tui_agent.tui.context import AppContext
from tui_agent.tui.panes.footer import Footer
from tui_agent.tui.panes.header import Header
from tui_agent.tui.screens.trace.span_detail import SpanDetail, open_events
from tui_agent.tui.screens.trace.span_list import FILTERS, SpanHead, SpanList
from tui_agent.tui.widgets.keymap import KeyActions, claims_key
from tui_agent.tui.widgets.line_pane import Intent

FOLLOW_S = 0.25
DETAIL_FROM = 100


class TraceScreen(KeyActions, Screen[None]):
    """The trace; its keys are in the registry, scope `trace`."""

    key_methods = {
        "span": ("move", "row"),
        "page_scroll": ("move", "page"),
        "page_ends": ("move", "end"),
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

    AUTO_FOCUS = "SpanList"
    DEFAULT_CSS = """
    TraceScreen { background: $s0; }
    TraceScreen #trace-body { height: 1fr; }
    TraceScreen SpanHead { height: 4; }
    TraceScreen SpanList {
        height: 1fr; overflow-x: hidden; overflow-y: scroll; scrollbar-size: 1 1; background: $s0;
    }
    TraceScreen #trace-left { width: 1fr; height: 1fr; }
    TraceScreen SpanDetail { width: 46; height: 1fr; }
    """

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.context = context
        looks = lambda: context.app.looks  # noqa: E731 - handed to every part
        self.header = Header(looks)
        self.head = SpanHead(looks)
        self.spans = SpanList(looks)
        self.detail = SpanDetail(looks)
        self.footer = Footer(looks)
        self._stoppable: bool | None = None
        """Whether a subtask runs that could be stopped."""
        self._stand: object = None
        """What is shown."""

    def compose(self) -> ComposeResult:
        yield self.header
        with Horizontal(id="trace-body"):
            yield Vertical(self.head, self.spans, id="trace-left")
            yield self.detail
        yield self.footer

    def on_mount(self) -> None:
        self.header.set_views(self.context.state, self.context.views.meter.view())
        self._offer()
        self.footer.set_class(self.context.app.is_airy, "-airy")
        self._fit()
        self.follow()
        self.spans.to_newest()
        self.set_interval(FOLLOW_S, self.follow)

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        width, height = self.app.size
        self.detail.display = width >= DETAIL_FROM
        self.detail.styles.width = 54 if width >= 180 else 46 if width >= 140 else 40
        self.header.display = height >= 10
        self.footer.display = height >= 10
        self.head.styles.height = 4 if height >= 24 else 1

    def _offer(self) -> None:
        stoppable = self.chosen is not None and self._runs(self.chosen)
        if stoppable != self._stoppable:
            self._stoppable = stoppable
            self.footer.set_keys(self.key_map.hints("trace", running=stoppable))

    def _runs(self, span: Span) -> bool:
        """Whether the subtask that the span belongs to still works."""
        return any(one.agent == span.agent for one in self.context.state.delegates)

    def follow(self) -> None:
        """Take the session's newest spans in."""
        view: TraceView = self.context.views.trace.view()
        now = self.context.app.clock()
        running = self.context.running
        older = self.context.sessions.older
        stand = (id(self.context.views), view.revision, older)
        if stand == self._stand and not running:
            return
        self._stand, self.head.older = stand, older
        self.spans.set_view(view, now)
        self._offer()
        self.head.set_view(view, self.spans.filter, self.context.views.metrics.view().cost_usd, self.spans)
        self.header.set_views(self.context.state, self.context.views.meter.view())
        self._show_detail()

    @property
    def chosen(self) -> Span | None:
        """The span under the cursor."""
        return self.spans.chosen_span

    @on(SpanList.Chosen)
    def _chosen(self, event: SpanList.Chosen) -> None:
        event.stop()
        self._offer()
        self._show_detail()

    def _show_detail(self) -> None:
        span = self.chosen
        if self.detail.display and span is not None:
            self.detail.set_span(span, self.spans.view, self.context)

    def on_key(self, event: events.Key) -> None:
        if claims_key(self, event):
            self.run_key(event.key)

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scope of the trace, and that of all lists."""
        return "trace", "rows"

    def leave(self) -> None:
        """Back to what lies below."""
        self.dismiss(None)

    def move(self, by: Literal["row", "page", "end"], direction: int) -> None:
        """Choose another span."""
        self.spans.move(by, direction)

    def fold(self, direction: int = 0) -> None:
        """Fold the chosen span, or open it; without a direction the other of the two."""
        self.spans.fold(folded=direction < 0 if direction else None)

    def show_events(self) -> bool:
        """Show the events of the chosen span as JSON; False where there is none."""
        if self.chosen is not None:
            open_events(self.context, self.chosen)
        return self.chosen is not None

    def copy(self) -> bool:
        """Copy what is known of the chosen span; False where there is none."""
        if self.chosen is not None:
            self.context.app.copy_text(self.detail.plain(self.chosen, self.context))
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
        """End the subtask that the chosen span belongs to, and nothing else."""
        context, span = self.context, self.chosen
        if span is None:
            return
        if self._runs(span):
            context.submit(Interrupt(scope="agent", agent=span.agent))
        else:
            context.app.say("That is no subtask that runs.", "warning")

    def show_only(self, index: int) -> None:
        """Show only the spans of this filter."""
        self.spans.set_filter(FILTERS[index])
        self.head.set_view(
            self.spans.view, self.spans.filter, self.context.views.metrics.view().cost_usd, self.spans
        )
        self._show_detail()

    @on(Intent)
    def _intent(self, event: Intent) -> None:
        event.stop()
        if event.name == "filter" and event.argument.isdigit():
            self.show_only(int(event.argument))
        elif event.name == "json":
            self.show_events()
        elif event.name in ("help", "context", "cost", "model", "policy"):
            self.dismiss(None)
            app = self.context.app
            app.call_later(
                app.do, event.name, event.argument
            )  # what it asks is answered to one that still lives
