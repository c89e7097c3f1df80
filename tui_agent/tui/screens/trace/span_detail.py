"""The details of one span in the trace: times, tokens, decision, output.

Invariant: control characters are removed from all text.
"""

import json

from pydantic import JsonValue

from tui_agent.folds.text.labels import SPAN_STATE_LABELS
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.folds.transcript.entries import ToolEntry
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.block_rows import Line, json_lines, json_strips
from tui_agent.tui.modals.viewer import show
from tui_agent.tui.panes.trace import duration, is_group, label, state_symbol, tokens
from tui_agent.tui.text import clean
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Part, with_intent, wrap
from tui_agent.units import format_cost, format_time_of_day

OUTPUT_ROWS = 12


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
    key = (context.app.key_map.key_of("json"), facts.style("accent", bold=True))
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


MAX_EVENTS = 200


def open_events(context: AppContext, span: Span) -> None:
    """Open a sheet with the events from the span's start to its end, as JSON."""
    lines: list[Line] = []

    def draw(facts: Facts) -> None:
        facts.rows += json_strips(lines, facts.looks, facts.width)

    viewer = show(context, f"Events of {span.name}", draw, empty="reading …")

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
