"""The details of one span: when, how long, decided by whom, its output. Invariant: views only, all cleaned."""

import json
import time

from pydantic import JsonValue
from textual.strip import Strip

from tui_agent.folds.text.labels import SPAN_STATE_LABELS
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.folds.transcript.entries import ToolEntry
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.block_rows import Line, json_lines, json_strips
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.panes.spans import label, state_symbol, tokens, took
from tui_agent.tui.screens.page import Facts
from tui_agent.tui.text import clean
from tui_agent.tui.widgets.rows import Part, doing, wrap
from tui_agent.units import format_cost

OUTPUT_ROWS = 12


def plain_text(span: Span, context: AppContext) -> str:
    """Return the facts and the output of a span as text, for copying."""
    facts = facts_of(span, context.views.trace.view(), context)
    lines = [span.name, *(f"{name}: {value}" for name, value in facts)]
    return "\n".join([*lines, output_of(span, context)]).strip()


def detail_rows(span: Span, view: TraceView, context: AppContext, width: int) -> list[Strip]:
    """Return the name, the facts, the end of the output and the way to the events of a span."""
    looks = context.app.looks
    facts = Facts(looks, width)
    symbol, role = state_symbol(span, looks.symbols)
    outcome = clean(span.outcome).replace("\n", " ") or SPAN_STATE_LABELS[span.state]
    facts.gap()
    for number, piece in enumerate(wrap(label(span, view, folded=False, full=True), width - 5)):
        fits = number == 0 and len(piece) + len(outcome) + 7 < width
        state: Part = (f"{symbol} {outcome}", facts.style(role))
        facts.line([(piece, facts.style(bold=True))], [state] if fits else [])
    facts.gap()
    for name, value in facts_of(span, view, context):
        facts.fact(name, value, names=13)
    output = clean(output_of(span, context)).strip("\n")
    if output.strip():
        facts.heading("Output")
        sunk = looks.palette.rich("t2", "sunk")
        for piece in wrap(output, width - 5)[-OUTPUT_ROWS:]:
            facts.line([(f" {piece.ljust(width - 5)} ", sunk)])
    facts.gap()
    facts.line(
        [
            ("J", doing(facts.style("accent", bold=True), "json")),
            (" its events as JSON", doing(facts.style("t2"), "json")),
        ]
    )
    return facts.rows


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
        ("state", SPAN_STATE_LABELS[span.state]),
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
        viewer.right = format_count(len(values), "event")
        if viewer.is_attached:
            viewer.redraw()

    context.worker(read(), "events")
