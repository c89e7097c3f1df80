"""The subcommand `eval graph`: shows a trajectory's progress, or writes the files as they were after one part.

A part is a message, answer, tool call or result.
"""

import argparse
import dataclasses
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from tui_agent.cli.checkout_part import report_checkout, resolve_folder
from tui_agent.cli.console.output import (
    escape_control,
    say,
    say_json,
    say_result,
    table,
    terminal_width,
    warn,
)
from tui_agent.cli.console.shared_options import RECORDING_HELP, Verbs, add_option, load_context
from tui_agent.config.paths import is_session_stored
from tui_agent.errors import UsageError
from tui_agent.export.archive.checkpoint_export import checkout_from_bundle, checkout_part
from tui_agent.export.object_storage import S3_SCHEME, download_file
from tui_agent.export.output_file import write_new
from tui_agent.export.trajectory.parquet import read_trace
from tui_agent.export.trajectory.progress import (
    commit_of_part,
    find_progress,
    format_graph,
    to_page,
    to_svg,
)
from tui_agent.export.trajectory.records import AgentTrace
from tui_agent.export.trajectory.trajectory_file import (
    BUNDLE,
    TRACE,
    read_session_trace,
    update_trajectory,
)
from tui_agent.wiring.startup_context import StartupContext

EXAMPLES = """\
examples:
  tui-agent eval graph latest
  tui-agent eval graph ses_01 -o progress.html
  tui-agent eval graph trajectories/ses_01/trace.parquet
  tui-agent eval graph s3://bucket/runs/ses_01/trace.parquet
  tui-agent eval graph ses_01 --part 42 --checkout-dest after-42
"""


def add_graph_verb(verbs: Verbs) -> None:
    """Add the subcommand `graph` to `verbs`."""
    graph = verbs.add(
        "graph", show_graph, "show how many tests passed after each part of a session", examples=EXAMPLES
    )
    graph.add_argument("id", metavar="ID", help=f"{RECORDING_HELP}, or a trace.parquet (also s3://…)")
    add_option(graph, "-o --output FILE", "write an .svg or .html file", type=Path)
    add_option(
        graph, "--part N", "write the files as they were after part N (-1: before the first part)", type=int
    )
    add_option(graph, "--checkout-dest DIR", "with --part: the new or empty folder for the files", type=Path)


def show_graph(arguments: argparse.Namespace) -> int:
    """Print or write the graph of a trajectory, or write the files as they were after a part."""
    if (arguments.part is None) != (arguments.checkout_dest is None):
        raise UsageError("--part and --checkout-dest must be given together.", hint="Give both.")
    base = load_context(arguments)
    with ExitStack() as cleanup:
        place = _find_place(base, arguments.id, cleanup)
        if arguments.part is not None:
            return _write_part(base, place, arguments)
        trace = _load_trace(base, place)
    if arguments.output is not None:
        return _write_graph(trace, arguments)
    points = find_progress(trace)
    if arguments.json:
        say_json(
            {
                "trajectory": trace.run.trajectory_id,
                "parts": len(trace.parts),
                "end": trace.run.session_end.reason if trace.run.session_end else None,
                "points": [dataclasses.asdict(point) for point in points],
            }
        )
        return 0
    if not points:
        say(f"{trace.run.trajectory_id}: no tests were run.")
        return 0
    last_part = max(part.part for part in trace.parts)
    say("\n".join(format_graph(points, last_part, terminal_width())))
    rows = [
        (
            str(point.part),
            str(point.turn or ""),
            f"{point.passed} of {point.total}",
            escape_control(point.command),
        )
        for point in points
    ]
    table(rows, ("part", "turn", "passed", "newest test run"))
    return 0


def _find_place(base: StartupContext, name: str, cleanup: ExitStack) -> Path:
    """Return the folder of a session, or the path of a parquet file. A file in S3 is downloaded first."""
    if name.startswith(S3_SCHEME):
        folder = Path(cleanup.enter_context(TemporaryDirectory(prefix="tui-agent-trace-")))
        return download_file(name, folder)
    path = Path(name).expanduser()
    return path if path.suffix == ".parquet" else base.store.find(name)


def _load_trace(base: StartupContext, place: Path) -> AgentTrace:
    """Return the trajectory in `place`. If its session is stored on this machine, first add the session's newer parts."""
    if place.is_dir():
        return read_session_trace(place, base.redactor)
    session = base.store.root / place.parent.name
    if place.name == TRACE and is_session_stored(session):
        note = update_trajectory(session, place.parent, base.redactor)
        if note:
            warn(note)
    return read_trace(place)


def _write_part(base: StartupContext, place: Path, arguments: argparse.Namespace) -> int:
    dest = resolve_folder(arguments.checkout_dest)
    if place.is_dir():
        commit = anyio.run(checkout_part, place, arguments.part, dest)
    else:
        commit = commit_of_part(_load_trace(base, place), arguments.part)
        bundle = place.parent / BUNDLE
        if not bundle.exists() and arguments.id.startswith(S3_SCHEME):
            bundle = download_file(f"{arguments.id.rpartition('/')[0]}/{BUNDLE}", place.parent)
        if not bundle.is_file():
            raise UsageError(f"File not found: {bundle}.", hint="Export the trajectory without --no-files.")
        anyio.run(checkout_from_bundle, bundle, commit, dest)
    return report_checkout({"trajectory": arguments.id}, commit, dest, arguments)


def _write_graph(trace: AgentTrace, arguments: argparse.Namespace) -> int:
    dest = arguments.output.expanduser()
    writers = {".svg": to_svg, ".html": to_page}
    if dest.suffix not in writers:
        raise UsageError(f"{dest} is neither .svg nor .html.", hint="Name a file that ends in .svg or .html.")
    write_new(dest, writers[dest.suffix](trace).encode())
    say_result({"path": str(dest.absolute())}, str(dest), as_json=arguments.json)
    return 0
