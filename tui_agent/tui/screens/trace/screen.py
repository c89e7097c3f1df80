"""The trace screen: a list of all spans (turns, iterations, calls) with their measures, filters, and a span's details.

Invariant: only visible rows are drawn, so scrolling is fast with any number of spans. All text is cleaned of control
characters.
"""

import json

from pydantic import JsonValue
from textual.strip import Strip

from tui_agent.folds.text.labels import SPAN_STATE_LABELS
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.folds.transcript.entries import ToolEntry
from tui_agent.protocol.commands import Interrupt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.modals.preview_rows import JsonLine, json_lines, json_strips
from tui_agent.tui.modals.viewer import show
from tui_agent.tui.panes.trace import duration, is_group, label, state_symbol, tokens
from tui_agent.tui.screens.list_page import Page
from tui_agent.tui.screens.trace.span_list import FILTERS, SpanList
from tui_agent.tui.untrusted_text import clean
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Part, cells, part, row, with_intent, wrap
from tui_agent.units import format_cost, format_duration, format_time_of_day

OUTPUT_ROWS = 12
"""Maximum number of rows of a call's output in the details."""
MAX_EVENTS = 200
"""Maximum number of a span's events to show as JSON."""


class TraceScreen(Page[int]):
    """The trace screen. The items of its list are indices of spans."""

    scope = "trace"
    follow_s = 0.25
    opens_above = frozenset({"help", "context"})
    key_methods = {"trace": "leave"}

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.listing = self.spans = SpanList()

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
        self.footer.set_keys(self.usable_hints(self.key_map.hints("trace", running=can_stop), set()))

    def _is_running(self, span: Span) -> bool:
        """Return True if the span's subtask is running."""
        return any(delegate.agent == span.agent for delegate in self.context.state.delegates)

    def follow(self) -> None:
        """Update the screen if the session has new spans or a turn is running."""
        # Another session, and a fully loaded long session, have other `views` objects.
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


def plain_text(span: Span, context: AppContext) -> str:
    """Return the facts and the output of a span as text, for copying."""
    facts = facts_of(span, context.views.trace.view(), context)
    lines = [span.name, *(f"{name}: {value}" for name, value in facts)]
    return "\n".join([*lines, output_of(span, context)]).strip()


def draw_span(facts: Facts, span: Span, view: TraceView, context: AppContext) -> None:
    """Add the name and the facts of a span, the end of its output, and a link to its events."""
    width = facts.width
    symbol, role = state_symbol(span, facts.looks.symbols)
    outcome = clean(span.outcome).replace("\n", " ") or SPAN_STATE_LABELS[span.state]
    facts.gap()
    for number, piece in enumerate(wrap(label(span, folded=False, full=True), width - 5)):
        fits = number == 0 and len(piece) + len(outcome) + 7 < width
        state: Part = (f"{symbol} {outcome}", facts.style(role))
        facts.line([(piece, facts.style(bold=True))], [state] if fits else [])
    facts.gap()
    for name, value in facts_of(span, view, context):
        facts.fact(name, value, names=13)
    output = clean(output_of(span, context)).strip("\n")
    if output.strip():
        facts.section("Output")
        sunk = facts.looks.palette.style("t2", "sunk")
        for piece in wrap(output, width - 5)[-OUTPUT_ROWS:]:
            facts.line([(f" {piece.ljust(width - 5)} ", sunk)])
    facts.gap()
    key = (context.app.key_of("json"), facts.style("accent", bold=True))
    words = (" its events as JSON", facts.style("t2"))
    facts.line([(text, with_intent(style, "json")) for text, style in (key, words)])


def facts_of(span: Span, view: TraceView, context: AppContext) -> list[tuple[str, str]]:
    """Return the known facts about a span as (name, value)."""
    now = context.app.clock()
    started = format_time_of_day(span.start, digits=3)
    ancestors: list[str] = []
    above = span
    while above.parent is not None:
        above = view.spans[above.parent]
        ancestors.insert(0, above.name)
    facts = [
        ("in", ", ".join(ancestors)),
        ("agent", str(span.agent) if span.agent != "main" else ""),
        ("delegate", f"level {span.name.rpartition(' ')[2]}" if "delegate level" in span.name else ""),
        ("part", str(span.part) if span.part is not None else ""),
        ("started", started),
        ("took", duration(span, now)),
        ("state", SPAN_STATE_LABELS[span.state]),
        ("largest in" if is_group(span) else "tokens in", tokens(span, span.tokens_in)),
        ("tokens out", tokens(span, span.tokens_out)),
        ("cost", format_cost(span.cost_usd, span.cost_precision)),
        ("decided" if span.kind == "tool" else "detail", span.detail),
        ("events", f"{span.first_seq} to {span.last_seq}"),
    ]
    return [(name, value) for name, value in facts if value]


def output_of(span: Span, context: AppContext) -> str:
    """Return the end of the output of a tool call, as stored in the transcript; empty for other spans."""
    if span.kind != "tool":
        return ""
    entry = context.chat.entry_at(span.first_seq)
    if not isinstance(entry, ToolEntry):
        return ""
    if entry.output:
        return entry.output
    texts = [getattr(block, "text", "") for block in entry.blocks]
    return "\n".join(text if isinstance(text, str) else text.preview for text in texts if text)


def open_events(context: AppContext, span: Span) -> None:
    """Open a sheet with the events from the span's start to its end, as JSON."""
    lines: list[JsonLine] = []

    def draw(facts: Facts) -> None:
        facts.rows += json_strips(lines, facts.looks, facts.width)

    viewer = show(context, f"Events of {span.name}", draw, empty="loading …")

    async def read() -> None:
        records = await context.reader.events_between(span.first_seq, span.last_seq, MAX_EVENTS)
        values: list[JsonValue] = [
            json.loads(record.model_dump_json()) if isinstance(record, Envelope) else record.raw
            for record in records
        ]
        for value in values:
            lines.extend(json_lines(value))
        viewer.plain = "\n".join(json.dumps(value, ensure_ascii=False) for value in values)
        viewer.right = format_count(len(values), "event")
        viewer.redraw()

    context.worker(read(), "events")
