"""What is known of one span: when, how long, decided by whom, what came out. Invariant: views only, all cleaned."""

import json
import time
from collections.abc import Callable

from pydantic import JsonValue
from textual.strip import Strip

from tui_agent.folds.text.labels import SPAN_STATES
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.folds.transcript.entries import ToolEntry
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.block_rows import Line, json_lines, json_strips
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.panes.spans import label, state_symbol, tokens, took
from tui_agent.tui.text import clean
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import Part, doing, row, wrap
from tui_agent.units import format_cost

OUTPUT_ROWS = 12


class SpanDetail(LinePane):
    """The pane at the right."""

    surface = "s1"

    def __init__(self, looks: Callable[[], Looks]) -> None:
        super().__init__(looks)
        self.span: Span | None = None
        self.view = TraceView((), ())
        self.facts: list[tuple[str, str]] = []
        self.output = ""

    def set_span(self, span: Span, view: TraceView, context: AppContext) -> None:
        """Show this one."""
        self.span, self.view = span, view
        self.facts = facts_of(span, view, context)
        self.output = output_of(span, context)
        self.show()

    def plain(self, span: Span, context: AppContext) -> str:
        """The same as text, for copying."""
        lines = [
            span.name,
            *(f"{name}: {value}" for name, value in facts_of(span, context.views.trace.view(), context)),
        ]
        return "\n".join([*lines, output_of(span, context)]).strip()

    def draw(self, width: int, height: int) -> list[Strip]:
        if self.span is None:
            return []
        span, fill = self.span, self.style()
        symbol, role = state_symbol(span, self.looks.symbols)
        said = clean(span.outcome).replace("\n", " ") or SPAN_STATES[span.state]
        rows = [row(width, [], fill=fill)]
        for at, piece in enumerate(wrap(label(span, self.view, folded=False, full=True), width - 6)):
            right: list[Part] = []
            if at == 0 and len(piece) + len(said) + 8 < width:
                right = [(f"{symbol} ", self.style(role)), (said, self.style(role))]
            rows.append(row(width, [("  ", fill), (piece, self.style(bold=True))], right, fill=fill))
        rows.append(row(width, [], fill=fill))
        for name, value in self.facts:
            for at, piece in enumerate(wrap(clean(value).replace("\n", " "), max(8, width - 17))):
                left: list[Part] = [
                    ("  " + (name if at == 0 else "").ljust(13), self.style("t2")),
                    (piece, fill),
                ]
                rows.append(row(width, left, fill=fill))
        rows += self._output(width)
        rows.append(row(width, [], fill=fill))
        key: list[Part] = [
            ("  ", fill),
            ("J", doing(self.style("accent", bold=True), "json")),
            (" its events as JSON", doing(self.style("t2"), "json")),
        ]
        rows.append(row(width, key, fill=fill))
        return rows

    def _output(self, width: int) -> list[Strip]:
        if not self.output.strip():
            return []
        sunk = self.looks.palette.rich("t2", "sunk")
        fill = self.style()
        rows = [row(width, [], fill=fill), row(width, [("  Output", self.style("t2"))], fill=fill)]
        lines = [
            piece for line in clean(self.output).strip("\n").split("\n") for piece in wrap(line, width - 6)
        ]
        for line in lines[-OUTPUT_ROWS:]:
            inner: list[Part] = [("  ", fill), (" " + line.ljust(width - 6) + " ", sunk)]
            rows.append(row(width, inner, fill=fill))
        return rows


def facts_of(span: Span, view: TraceView, context: AppContext) -> list[tuple[str, str]]:
    """Names and values, those that are known."""
    now = context.app.clock()
    started = time.strftime("%H:%M:%S", time.localtime(span.start)) + f".{int(span.start * 1000) % 1000:03d}"
    where = [view.spans[index].name for index in _above(span, view)]
    facts = [
        ("in", ", ".join(reversed(where))),
        ("agent", str(span.agent) if span.agent != "main" else ""),
        ("delegate", f"level {span.name.rpartition(' ')[2]}" if "delegate level" in span.name else ""),
        ("part", str(span.part) if span.part is not None else ""),
        ("started", started),
        ("took", took(span, now)),
        ("state", SPAN_STATES[span.state]),
        ("tokens in", tokens(span, span.tokens_in)),
        ("tokens out", tokens(span, span.tokens_out)),
        ("cost", format_cost(span.cost_usd)),
        ("decided" if span.kind == "tool" else "detail", span.detail),
        ("events", f"{span.first_seq} to {span.last_seq}"),
    ]
    return [(name, value) for name, value in facts if value]


def _above(span: Span, view: TraceView) -> list[int]:
    found: list[int] = []
    parent = span.parent
    while parent is not None:
        found.append(parent)
        parent = view.spans[parent].parent
    return found


def output_of(span: Span, context: AppContext) -> str:
    """The tail of a tool's output, as the transcript holds it."""
    if span.kind != "tool":
        return ""
    entry = context.chat.entry_at(span.first_seq)
    if not isinstance(entry, ToolEntry):
        return ""
    if entry.output:
        return entry.output
    texts = [getattr(block, "text", "") for block in entry.blocks]
    return "\n".join(text if isinstance(text, str) else text.preview for text in texts if text)


MOST_EVENTS = 200


def open_events(context: AppContext, span: Span) -> None:
    """The events from the one that opened the span to the one that closed it, its own agent's only."""
    values: list[JsonValue] = []
    lines: list[Line] = []

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        if not lines:
            return viewer.say(width, "reading …", "t3")
        return json_strips(lines, viewer.looks, width)

    viewer = Viewer(lambda: context.app.looks, f"Events of {span.name}", draw)
    context.app.push_screen(viewer)

    async def read() -> None:
        found = await context.reader.events_between(span.first_seq, span.last_seq, MOST_EVENTS)
        for record in found:
            if isinstance(record, Envelope):
                values.append(json.loads(record.model_dump_json()))
            else:
                values.append(record.raw)
        for value in values:
            lines.extend(json_lines(value))
        viewer.plain = "\n".join(json.dumps(value, ensure_ascii=False) for value in values)
        viewer.right = counted(len(values), "event")
        if viewer.is_attached:
            viewer.redraw()

    context.worker(read(), "events")
