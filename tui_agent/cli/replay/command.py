"""Show a recorded session in the app as it was at any of its events; no model and no tool runs.

The session's log is only read. With --headless, the content of every pane is printed as one JSON object.
"""

import argparse
import gc
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic_core import to_jsonable_python

from tui_agent.cli.app import require_terminal
from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import escape_control, say, say_json, shorten
from tui_agent.cli.console.shared_options import (
    GROUPS,
    RECORDING_HELP,
    add_flag,
    add_option,
    amount,
    load_context,
)
from tui_agent.errors import UsageError
from tui_agent.folds.comparison.net_changes import LineCounter
from tui_agent.folds.replay_cursor import views_at
from tui_agent.folds.screen_folds import Views
from tui_agent.folds.session.state_view import state_to_json
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.protocol.unicode_text import format_count
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_reader import read_records

if TYPE_CHECKING:
    from tui_agent.wiring.rerun import RerunResult

EXAMPLES = """\
examples:
  tui-agent replay latest
  tui-agent replay ses_01 --to 214 --speed 4
  tui-agent replay ses_01 --to 214 --headless | jq .state.todo
  tui-agent replay latest --rerun

--rerun calls no model and runs no tool. It compares the events' kinds and contents, except ids, times, digests and
summaries. Exit status: 0 if the events are the same, 1 if not.

the object that --headless prints:
  session, path, events     the log and its number of events
  seq, at, kind             the event up to which the session is shown
  state                     as printed by `sessions show --state`
  transcript                the chat's entries in order: type (user, answer, reasoning, tool, notice, question,
                            turn), id, seq, at, turn, and further fields of the type
  todo, trace, context, files, agents, metrics, approvals, branches, plugins    the content of the panes
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the session, the event and the output to the parser."""
    parser.add_argument("id", metavar="ID", help=RECORDING_HELP)
    add_option(parser, "--to SEQ", "the event to show (default: the last one)", type=int)
    add_option(parser, "--speed X", "playback speed (default: 1, as recorded)", type=amount, default=1.0)
    add_flag(parser, "--headless", "print the panes' content as one JSON object")
    add_flag(
        parser,
        "--rerun",
        "run the turns again with the recorded answers and results; report the first event that differs",
    )
    add_flag(parser, "--json", "with --rerun: print one JSON object")
    GROUPS["folders"](parser)


def run(arguments: argparse.Namespace) -> int:
    """Show, print or rerun the session, and return the exit status."""
    if not (arguments.headless or arguments.rerun):
        require_terminal("To print the panes as JSON instead: tui-agent replay ID --headless")
    base = load_context(arguments)
    folder = base.store.find(arguments.id)
    records = read_records(folder)
    if arguments.rerun:
        # Imported only here, because only a rerun needs an engine.
        result: RerunResult = import_module("tui_agent.wiring.rerun").rerun(base, folder, records)
        return print_rerun(result, folder.name, as_json=arguments.json)
    seq = resolve_seq(records, arguments.to)
    if arguments.headless:
        return print_views(folder, records, seq)
    # The records are needed until the end, so exempt them from garbage collection.
    gc.freeze()
    # Imported only here, because only the app needs Textual.
    recording = import_module("tui_agent.session.recorded_session").RecordedSession(folder)
    status: int = import_module("tui_agent.tui.screens.replay.app").run_replay(
        base.options, recording, to_seq=seq, speed=arguments.speed
    )
    return status


def print_views(folder: Path, records: Sequence[Record], seq: int) -> int:
    """Print the content of all panes of the app at event `seq` as one JSON object."""
    views = views_to_json(views_at(records, seq), LineCounter(open_blobs(folder).find))
    say_json({"session": folder.name, "path": str(folder), "events": len(records), **views})
    return 0


def resolve_seq(records: Sequence[Record], seq: int | None) -> int:
    """Return `seq`, or the number of the last event if `seq` is None.

    Raise `UsageError` if the log has no event with this number.
    """
    last = records[-1].seq if records else -1
    if seq is None:
        return last
    if not 0 <= seq <= last:
        raise UsageError(f"Event {seq} not found.", hint=f"The session has events 0 to {last}.")
    return seq


def views_to_json(views: Views, lines: LineCounter) -> JsonMap:
    """Return the content of all panes of the app as a JSON object, with the panes' names as keys.

    `lines`: counts the added and removed lines of the changed files.
    """
    transcript = [
        {"type": type(entry).__name__.removesuffix("Entry").lower(), **to_jsonable_python(entry)}
        for entry in views.transcript.view().entries
    ]
    files = views.files.view()
    changed = lines.count_all(files.files)
    added, removed = lines.sum_files(changed)
    return {
        "seq": views.seq,
        "time": views.last_event_time,
        "kind": views.last_kind,
        "state": state_to_json(views.state.view()),
        "transcript": transcript,
        "todo": to_jsonable_python(views.todo.view()),
        "trace": to_jsonable_python(views.trace.view()),
        "context": to_jsonable_python(views.meter.view()),
        "files": to_jsonable_python(replace(files, files=changed, added=added, removed=removed)),
        "agents": to_jsonable_python(views.agents.view()),
        "metrics": to_jsonable_python(views.metrics.view()),
        "approvals": to_jsonable_python(views.approvals.view()),
        "branches": to_jsonable_python(views.branches.view()),
        "plugins": to_jsonable_python(views.plugins),
    }


def print_rerun(result: "RerunResult", session: str, *, as_json: bool) -> int:
    """Print the result of a rerun, and return the exit status: 0 if no event differs, else 1."""
    divergence = result.divergence
    if as_json:
        say_json(
            {
                "session": session,
                "turns": result.turns,
                "events": result.events,
                "taken_over": [{"turn": turn, "why": why} for turn, why in result.skipped],
                "divergence": None if divergence is None else {"turn": result.turn, **asdict(divergence)},
            }
        )
        return Exit.DONE if divergence is None else Exit.FAILED
    for turn, why in result.skipped:
        say(f"turn {turn} was copied from the record, not rerun: {why}")
    if divergence is None:
        turns = format_count(result.turns, "turn")
        say(f"{session}: no differences in {turns} with {result.events} events.")
        return Exit.DONE
    say(f"{session}: differs in turn {result.turn} at event {divergence.seq}:")
    say(f"  recorded  {divergence.recorded}\n  rerun     {divergence.replayed}")
    if divergence.field != "kind":
        old, new = (
            shorten(escape_control(repr(value)), 300)
            for value in (divergence.old_value, divergence.new_value)
        )
        say(f"  {divergence.field}\n    was {old}\n    now {new}")
    return Exit.FAILED
