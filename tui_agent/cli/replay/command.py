"""A recorded session as it was at any of its events, in the app with a timeline: no model, no tool runs.

Reads the session's log and writes nothing, so it works on a session that another process holds. With --headless it
prints what every pane showed at an event, as one JSON object.
"""

import argparse
import gc
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from tui_agent.cli.app import need_terminal
from tui_agent.cli.options import GROUPS, amount, session_options
from tui_agent.cli.output import say_json
from tui_agent.cli.trace import WHICH
from tui_agent.errors import UsageError
from tui_agent.folds.moments import moment
from tui_agent.folds.views_json import views_to_json
from tui_agent.protocol.envelope import Record
from tui_agent.store.reader import read_records
from tui_agent.wiring.base import ground

EXAMPLES = """\
examples:
  tui-agent replay latest
  tui-agent replay ses_01 --to 214 --speed 4
  tui-agent replay ses_01 --to 214 --headless | jq .state.todo
  tui-agent replay latest --rerun

--rerun asks no model and runs no tool; it compares kinds and payloads, without ids, times, digests and what was packed.
Exit status: 0 the same events, 1 another one.

the object that --headless prints:
  session, path, events     which log, and how many events it holds
  seq, at, kind             the event that everything below stands for
  state                     as `sessions show --state` prints it
  transcript                the chat's entries in order: type (user, answer, reasoning, tool, notice, question,
                            turn), id, seq, at, turn, and what the type has
  todo, trace, context, files, agents, metrics, approvals, branches, plugins    the panes' views
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Which session, and where in it."""
    parser.add_argument("id", metavar="ID", help=WHICH)
    parser.add_argument("--to", metavar="SEQ", type=int, help="stand at this event (default: the last one)")
    parser.add_argument(
        "--speed", metavar="X", type=amount, default=1.0, help="how fast Space plays (default: 1, as it was)"
    )
    parser.add_argument("--headless", action="store_true", help="print the views there as one JSON object")
    parser.add_argument(
        "--rerun",
        action="store_true",
        help="run the loop again on the recorded answers and results, and tell the first event that is another",
    )
    parser.add_argument("--json", action="store_true", help="with --rerun: one JSON object")
    GROUPS["place"](parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the session."""
    if not (arguments.headless or arguments.rerun):
        _need_terminal()
    options = session_options(arguments, client="headless", interactive=False)
    base = ground(options)
    folder = base.store.find(arguments.id)
    records = read_records(folder)
    if arguments.rerun:
        # By name: only this needs an engine.
        again: int = import_module("tui_agent.cli.replay.rerun").rerun(
            base, folder, records, as_json=arguments.json
        )
        return again
    seq = place(records, arguments.to)
    if arguments.headless:
        return headless(folder, records, seq)
    gc.freeze()  # what was read stays: collecting it again and again would only cost time
    # By name: the screen's library is only for who has a screen.
    recording = import_module("tui_agent.session.recorded").RecordedSession(folder)
    status: int = import_module("tui_agent.tui.screens.replay.app").run_replay(
        options, recording, to_seq=seq, speed=arguments.speed
    )
    return status


def _need_terminal() -> None:
    try:
        need_terminal()
    except UsageError as fault:
        hint = "Without one: tui-agent replay ID --headless prints the views as JSON."
        raise UsageError(fault.message, hint=hint) from None


def headless(folder: Path, records: Sequence[Record], seq: int) -> int:
    """Print the views at an event."""
    views = views_to_json(moment(records, seq))
    say_json({"session": folder.name, "path": str(folder), "events": len(records), **views})
    return 0


def place(records: Sequence[Record], wanted: int | None) -> int:
    """The event to stand at. Raises `UsageError` where the log has none of that number."""
    last = records[-1].seq if records else -1
    if wanted is None:
        return last
    if not 0 <= wanted <= last:
        raise UsageError(f"There is no event {wanted}.", hint=f"The session has events 0 to {last}.")
    return wanted
