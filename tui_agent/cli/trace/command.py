"""Summarise a session: events, tools, failures, files, tokens, cost, context, and the final answer."""

import argparse
import dataclasses
from pathlib import Path

from tui_agent.cli.console.output import say, say_json, warn
from tui_agent.cli.console.shared_options import GROUPS, RECORDING_HELP, add_flag, load_context
from tui_agent.cli.run.part_printer import print_part
from tui_agent.cli.trace.session_overview import overview_rows
from tui_agent.cli.trace.span_lines import span_line, spans_in_order
from tui_agent.folds.projection import fold
from tui_agent.folds.text.session_figures import measure_rows
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.folds.trace.part_list import Parts
from tui_agent.store.damage_report import describe_damage, verify_session
from tui_agent.store.log_reader import read_records

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
    """Print the overview of one session, or only its parts with `--parts`."""
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
    for name, value in (*overview_rows(metrics), *measure_rows(metrics)):
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
