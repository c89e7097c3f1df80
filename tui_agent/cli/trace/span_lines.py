"""The spans of a session as lines in the shell, indented as a tree."""

from tui_agent.cli.console.output import shorten, terminal_width
from tui_agent.folds.text.labels import SPAN_STATE_LABELS
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.units import format_duration, format_tokens


def spans_in_order(trace: TraceView) -> list[Span]:
    """Return the spans (timed turns, requests and tool calls) of a session in tree order: parents before children."""
    spans: list[Span] = []
    pending = list(reversed(trace.roots))
    while pending:
        span = trace.spans[pending.pop()]
        spans.append(span)
        pending.extend(reversed(span.children))
    return spans


def describe_tokens(span: Span) -> str:
    """Format the tokens of a span.

    For a model request, show input and output. For other spans, show the output of all requests, and the input of the
    largest request.
    """
    tokens_in, tokens_out = format_tokens(span.tokens_in or 0), format_tokens(span.tokens_out or 0)
    if span.estimated:
        return f"about {tokens_in} tokens in, {tokens_out} out (estimated: the provider reported none)"
    return (
        f"{tokens_in} tokens in, {tokens_out} out"
        if span.kind == "model"
        else f"{tokens_out} tokens out; the largest request had {tokens_in} tokens"
    )


def span_line(span: Span) -> str:
    """Format one span (a timed turn, request or tool call) as a line, indented by its depth in the tree."""
    duration = "running" if span.duration_ms is None else format_duration(span.duration_ms / 1000)
    tokens = f"  {describe_tokens(span)}" if span.tokens_in or span.tokens_out else ""
    state = "" if span.state == "done" else f"  {SPAN_STATE_LABELS[span.state]}"
    line = (
        f"{'  ' * span.depth}{span.name}  {duration}{tokens}{state}  {' '.join(span.detail.split())}".rstrip()
    )
    return shorten(line, max(40, terminal_width()))
