"""Summarise a session: events, tools, failures, files, tokens, cost, context, and the final answer."""

import argparse
import dataclasses
from pathlib import Path

from tui_agent.cli.console.output import say, say_json, shorten, terminal_width, warn
from tui_agent.cli.console.shared_options import GROUPS, RECORDING_HELP, add_flag, load_context
from tui_agent.cli.run.part_printer import print_part
from tui_agent.folds.base import fold
from tui_agent.folds.text.labels import FAILURE_LABELS, SPAN_STATE_LABELS, TURN_END_LABELS, describe_failures
from tui_agent.folds.text.session_figures import describe_work, measure_rows
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.trace.metrics import Metrics, MetricsView
from tui_agent.folds.trace.part_list import Parts
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.store.damage_report import describe_damage, verify_session
from tui_agent.store.log_reader import read_records
from tui_agent.units import format_cost, format_duration, format_time, format_tokens

EXAMPLES = """\
examples:
  tui-agent trace latest
  tui-agent trace ses_01 --spans
  tui-agent trace ses_01 --parts --json | jq 'select(.changed_files)'
  tui-agent trace run_0123456789ab
  tui-agent trace ~/copied/events.jsonl
  tui-agent trace latest --json | jq .cost_usd
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the session and the output format to the parser."""
    parser.add_argument("id", metavar="ID", help=RECORDING_HELP)
    add_flag(parser, "--spans", "also print the tree of turns, requests and tools")
    add_flag(parser, "--parts", "print a line for each part and its checkpoint instead")
    add_flag(parser, "--json", "print one JSON object; with --parts, one per part")
    GROUPS["folders"](parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the summary of one session, or only its parts with `--parts`."""
    store = load_context(arguments).store
    folder = store.find(arguments.id)
    records = read_records(folder)
    for flaw in describe_damage(folder, records):
        warn(flaw)
    if arguments.parts:
        for row in fold(Parts(), records):
            print_part(row, as_json=arguments.json)
        return
    metrics = fold(Metrics(), records)
    spans = fold(Trace(), records)
    if arguments.json:
        say_json(
            {
                "session": folder.name,
                "path": str(folder),
                **dataclasses.asdict(metrics),
                "artifact_integrity": integrity(folder),
                "spans": [dataclasses.asdict(span) for span in spans.spans],
            }
        )
        return
    say(f"session {folder.name}  {folder}")
    for name, value in (*summary(metrics), *measure_rows(metrics)):
        say(f"{name:<12} {value}")
    if arguments.spans:
        say("")
        for span in spans_in_order(spans):
            say(span_line(span))
    if metrics.final_answer:
        say(f"\n{metrics.final_answer}")


def integrity(folder: Path) -> dict[str, object]:
    """Check a session's log and its blobs; return `ok` and the list of `problems`."""
    problems = verify_session(folder)
    return {"ok": not problems, "problems": problems}


def summary(metrics: MetricsView) -> list[tuple[str, str]]:
    """Return a session's metrics as (name, formatted value) pairs. Metrics without a value are left out."""
    tools = ", ".join(
        f"{name} {count}" for name, count in sorted(metrics.tools.items(), key=lambda pair: -pair[1])
    )
    cost = (
        "unknown (no price)"
        if metrics.cost_usd is None
        else format_cost(metrics.cost_usd, metrics.cost_precision)
    )
    tokens = f"{format_tokens(metrics.input_tokens)} in ({format_tokens(metrics.cached_tokens)} cached), {format_tokens(metrics.output_tokens)} out"
    calls = f"{metrics.model_calls}, {metrics.model_retry_count} retried, {metrics.model_failures} failed"
    failures = f"{metrics.failed_tools} failed, {metrics.invalid_calls} invalid, {metrics.denials} denied"
    failed_tests = describe_failures(metrics.tests_failed or 0, metrics.test_errors) or "0 failed"
    counts = (f"{metrics.tests_passed or 0} passed", failed_tests, metrics.later_changes.description)
    tests = ", ".join(filter(None, counts))
    has_tests = metrics.tests_passed is not None or metrics.tests_failed is not None
    start = f"{format_time(metrics.first_at)}, last event {format_duration(metrics.last_at - metrics.first_at)} later"
    rows = [
        ("started", start if metrics.events else ""),
        ("events", f"{metrics.events}: {kinds(metrics)}" if metrics.events else "none readable"),
        ("work", describe_work(metrics)),
        ("model calls", calls),
        ("tools", tools),
        ("tool errors", failures if metrics.failed_tools or metrics.invalid_calls or metrics.denials else ""),
        ("files", ", ".join(metrics.files_changed)),
        ("tests", tests if has_tests else ""),
        ("tokens", tokens),
        ("cost", cost),
        ("last turn", _end_label(metrics.last_turn_end)),
        ("last failure", FAILURE_LABELS.get(metrics.failure, metrics.failure)),
    ]
    return [(name, value) for name, value in rows if value]


def _end_label(reason: str) -> str:
    return next((words for name, words in TURN_END_LABELS.items() if name == reason), reason)


def kinds(metrics: MetricsView) -> str:
    """Format the eight most frequent kinds of events with their counts, and the total of the others."""
    commonest = sorted(metrics.kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    rest = sum(count for _, count in commonest[8:])
    counts = [f"{kind} {count}" for kind, count in commonest[:8]]
    return ", ".join([*counts, f"others {rest}"] if rest else counts)


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
