"""Write a bug report to a file that you can read and share; nothing is sent.

Invariant: a report is not written to the workspace, contains no secrets, and only the user can read it.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tui_agent.cli.config import flatten_settings
from tui_agent.cli.console.output import escape_control, say_result
from tui_agent.cli.console.shared_options import add_flag, add_groups, add_option, session_options
from tui_agent.cli.doctor.command import run_checks
from tui_agent.config.paths import screen_error_log
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.small_files import read_regular, write_private
from tui_agent.errors import BlobNotFound, SessionNotFound
from tui_agent.export.output_file import unused_path
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.stored_text import text_preview
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_reader import read_content_tail
from tui_agent.units import format_time
from tui_agent.wiring.startup_context import StartupContext, load_startup_context

MAX_EVENTS = 400
"""Number of newest events used for the report."""
MAX_LISTED_EVENTS = 60
"""Number of newest events that the report lists one by one."""
MAX_FAULTS = 5
MAX_FAULT_BYTES = 2 << 20
HEAD_CHARS, TAIL_CHARS = 4_000, 12_000
"""Number of characters kept at the start and at the end of a long text."""

EXAMPLES = """\
examples:
  tui-agent bug
  tui-agent bug ses_0123456789ab
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bug`."""
    parser.add_argument("id", nargs="?", metavar="ID", help="a session id or its beginning")
    add_flag(parser, "--json", "print one JSON object")
    add_option(
        parser, "--terminal WORDS", "a description of the terminal (used by the app's /bug)", default=""
    )
    add_groups(parser, ("folders", "model", "extensions"))


def run(arguments: argparse.Namespace) -> None:
    """Write the report and print its path."""
    options = session_options(arguments, client="headless", interactive=True)
    base = load_startup_context(options)
    folder = _find_session(base, arguments.id)
    text = base.redactor.redact_text(
        escape_control("\n".join(report_lines(base, options, folder, arguments.terminal)) + "\n", lines=True)
    )
    date = format_time(base.clock.now()).replace(" ", "-").replace(":", "")
    path = unused_path(base.config.data_dir / "reports", f"bug-{date}", "md")
    # The home folder's name is usually the user's.
    write_private(path, text.replace(str(Path.home()), "~"))
    say_result(
        {"path": str(path), "session": None if folder is None else folder.name},
        f"{path}\nRead the report before you share it. Nothing was sent.",
        as_json=arguments.json,
    )


def _find_session(base: StartupContext, name: str | None) -> Path | None:
    """Return the folder of the session `name` (by default the newest), or None if there are no sessions."""
    try:
        return base.store.find(name or "latest")
    except SessionNotFound:
        if name:
            raise
        return None


def report_lines(
    base: StartupContext, options: SessionOptions, folder: Path | None, terminal: str = ""
) -> Iterator[str]:
    """Yield the bug report's lines before redaction.

    `terminal`: a description of the terminal. If empty, the report contains the terminal check of `tui-agent doctor`.
    """
    yield "# Problem\n\nWrite here what you did, what you expected, and what happened instead.\n"
    yield "## Environment\n"
    for name, result in run_checks(options):
        if name == "terminal" and terminal:
            yield f"- {terminal}"
            continue
        yield f"- {result.state}: {name}: {result.message} {result.advice}".rstrip()
    yield "\n## Changed settings\n"
    for key, value in flatten_settings(base.config.model_dump(mode="json")):
        origin = base.config.origin(key)
        if origin != "default":
            yield f"- {key} = {json.dumps(value, ensure_ascii=False)}  ({origin})"
    if folder is None:
        yield "\nNo session is recorded here."
        return
    records = read_content_tail(folder, MAX_EVENTS)
    yield f"\n## Session {folder.name}\n"
    yield from _event_lines(records)
    yield from _fault_lines(records, folder)
    yield from _screen_fault_lines(base, folder.name)


def _event_lines(records: Sequence[Record]) -> Iterator[str]:
    """Yield the kinds of the newest events, without their private content."""
    counts = Counter(_event_kind(record) for record in records)
    yield f"Newest {len(records)} events: " + ", ".join(f"{count} {kind}" for kind, count in counts.items())
    yield "\nThe last events:\n"
    for record in records[-MAX_LISTED_EVENTS:]:
        yield f"- {record.seq} {_event_kind(record)}"


def _event_kind(record: Record) -> str:
    return "unknown" if record.payload is None else record.payload.kind


def _fault_lines(records: Sequence[Record], folder: Path) -> Iterator[str]:
    faults = [record.payload for record in records if isinstance(record.payload, ErrorRaised | ModelFailed)]
    yield "\n## Newest errors\n" if faults else "\nNo errors are recorded."
    for fault in faults[-MAX_FAULTS:]:
        yield f"- {fault.kind}: {_shorten(fault.message)} {_shorten(fault.hint)}".rstrip()
        if isinstance(fault, ErrorRaised) and fault.detail:
            detail = text_preview(fault.detail)
            with suppress(BlobNotFound):
                detail = open_blobs(folder).read_text(fault.detail)
            yield "\n" + "\n".join(f"      {line}" for line in _shorten(detail).splitlines()) + "\n"


def _screen_fault_lines(base: StartupContext, session: str) -> Iterator[str]:
    try:
        content = read_regular(screen_error_log(base.config.data_dir), MAX_FAULT_BYTES) or b""
    except OSError:  # The app logged no error.
        return
    faults = [
        fault
        for fault in content.decode("utf-8", "replace").split("\n\n")
        if f" {session} " in fault.split("\n")[0]
    ]
    if faults:
        yield "\n## Newest errors of the app's screen\n"
        for fault in faults[-MAX_FAULTS:]:
            yield "\n".join(f"    {line}" for line in _shorten(fault).strip().splitlines()) + "\n"


def _shorten(text: str) -> str:
    """Shorten a long text to its start and its end, without cutting a word."""
    # Half a secret is hard to recognise.
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    first, last = text[:HEAD_CHARS], text[-TAIL_CHARS:]
    first = first[: max(first.rfind(" "), first.rfind("\n")) + 1]
    last = last[min(index for index in (last.find(" "), last.find("\n"), len(last)) if index >= 0) :]
    return f"{first}\n[… {len(text) - len(first) - len(last)} characters left out …]\n{last}"
