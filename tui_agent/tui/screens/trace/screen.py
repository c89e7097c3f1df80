"""The trace in full: every span with its measures and its place in time, filters, and what is known of one.

Invariant: only rows in sight are drawn, so fifty thousand spans scroll like ten; following a live session keeps the
chosen span chosen.
"""

from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.protocol.commands import Interrupt
from tui_agent.tui.actions import footer
from tui_agent.tui.commands.json_view import open_events
from tui_agent.tui.panes.footer import Footer
from tui_agent.tui.panes.header import Header
from tui_agent.tui.screens.trace.span_detail import SpanDetail
from tui_agent.tui.screens.trace.span_list import FILTERS, SpanHead, SpanList
from tui_agent.tui.widgets.line_pane import Intent
from tui_agent.tui.widgets.modal_keys import small, takes

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

FOLLOW_S = 0.25
DETAIL_FROM = 100


class TraceScreen(Screen[None]):
    """Keys: arrows, 1 to 6 filter, Enter in the chat, J as JSON, C copies."""

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

    def __init__(self, live: "Live") -> None:
        super().__init__()
        self.live = live
        looks = lambda: live.app.looks  # noqa: E731 - handed to every part
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
        self.header.set_views(self.live.state, self.live.views.meter.view())
        self._offer()
        self.footer.set_class(self.live.app.shape.airy, "-airy")
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
            self.footer.set_keys(footer(self.live.app.actions, ("trace",), running=stoppable))

    def _runs(self, span: Span) -> bool:
        """Whether the subtask that the span belongs to still works."""
        return any(one.agent == span.agent for one in self.live.state.delegates)

    def follow(self) -> None:
        """Take the session's newest spans in."""
        view: TraceView = self.live.views.trace.view()
        now = self.live.app.clock()
        running = self.live.running
        older = self.live.opening.older
        stand = (id(self.live.views), view.revision, older)
        if stand == self._stand and not running:
            return
        self._stand, self.head.older = stand, older
        self.spans.set_view(view, now)
        self._offer()
        self.head.set_view(view, self.spans.filter, self.live.views.metrics.view().cost_usd, self.spans)
        self.header.set_views(self.live.state, self.live.views.meter.view())
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
            self.detail.set_span(span, self.spans.view, self.live)

    def on_key(self, event: events.Key) -> None:
        if not takes(self, event):
            return
        key = small(event.key)
        match key:
            case "escape" | "q" | "f3":
                self.dismiss(None)
            case "1" | "2" | "3" | "4" | "5" | "6":
                self._filter(int(key) - 1)
            case "enter":
                self._enter()
            case "j" if self.chosen is not None:
                open_events(self.live, self.chosen)
            case "x" if self.chosen is not None:
                self._stop(self.chosen)
            case "c" if self.chosen is not None:
                self.live.app.copy_text(self.detail.plain(self.chosen, self.live))
            case _:
                self.spans.take_key(key)

    def _enter(self) -> None:
        span = self.chosen
        if span is None:
            return
        if not self.detail.display:
            open_events(self.live, span)
            return
        self.dismiss(None)
        self.live.chat.show_seq(span.first_seq)

    def _stop(self, span: Span) -> None:
        """End the subtask that the span belongs to, and nothing else."""
        live = self.live
        if self._runs(span):
            live.submit(Interrupt(scope="agent", agent=span.agent))
        else:
            live.app.say("That is no subtask that runs.", "warning")

    def _filter(self, index: int) -> None:
        self.spans.set_filter(FILTERS[index])
        self.head.set_view(
            self.spans.view, self.spans.filter, self.live.views.metrics.view().cost_usd, self.spans
        )
        self._show_detail()

    @on(Intent)
    def _intent(self, event: Intent) -> None:
        event.stop()
        if event.name == "filter" and event.argument.isdigit():
            self._filter(int(event.argument))
        elif event.name == "json" and self.chosen is not None:
            open_events(self.live, self.chosen)
        elif event.name in ("help", "context", "cost", "model", "policy"):
            self.dismiss(None)
            app = self.live.app
            app.call_later(
                app.do, event.name, event.argument
            )  # what it asks is answered to one that still lives
