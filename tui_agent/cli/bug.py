"""A report of what went wrong, as a file to read and to pass on yourself; nothing is sent anywhere.

Invariant: written on this command only, readable by its user only, and never into the folder that is worked in. It holds
what works here, settings, kinds of events and the newest faults, without secrets; no prompt, no answer, no file.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui_agent.cli.config import leaves
from tui_agent.cli.doctor.command import examine
from tui_agent.cli.options import GROUPS, session_options
from tui_agent.cli.output import moment, printable, say, say_json
from tui_agent.config.files import read_regular, write_private
from tui_agent.config.options import SessionOptions
from tui_agent.config.paths import screen_faults
from tui_agent.errors import SessionNotFound
from tui_agent.export.output_file import free_name
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.store.lineage import blobs_of
from tui_agent.store.reader import read_end
from tui_agent.wiring.base import Ground, ground

NEWEST = 400
"""Events that are looked at."""
KINDS = 60
"""Of these so many are named one by one."""
FAULTS = 5
MOST_BYTES = 2 << 20
FIRST, LAST = 4_000, 12_000
"""Characters of a long text: it says first where it comes from, and last what went wrong."""

EXAMPLES = """\
examples:
  tui-agent bug
  tui-agent bug ses_0123456789ab
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Which session."""
    parser.add_argument("id", nargs="?", metavar="ID", help="a session, or the beginning of its id")
    parser.add_argument("--json", action="store_true", help="JSON lines")
    parser.add_argument(
        "--terminal", metavar="WORDS", default="", help="what the app that asks says of its own terminal"
    )
    for group in ("place", "model", "extensions"):
        GROUPS[group](parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the report and tell where it is."""
    options = session_options(arguments, client="headless", interactive=True)
    base = ground(options)
    folder = _folder(base, arguments.id)
    text = base.redactor.text(
        printable("\n".join(report(base, options, folder, arguments.terminal)) + "\n", lines=True)
    )
    path = free_name(base.config.data_dir / "reports", f"bug-{_day(base)}", "md")
    write_private(path, text.replace(str(Path.home()), "~"))
    if arguments.json:
        say_json({"path": str(path), "session": None if folder is None else folder.name})
    else:
        say(f"{path}\nRead it before you pass it on. Nothing was sent.")
    return 0


def _day(base: Ground) -> str:
    return moment(base.clock.now()).replace(" ", "-").replace(":", "")


def _folder(base: Ground, wanted: str | None) -> Path | None:
    """The session's folder; of none that was named the newest, None where there is none."""
    try:
        return base.store.find(wanted or "latest")
    except SessionNotFound:
        if wanted:
            raise
        return None


def report(base: Ground, options: SessionOptions, folder: Path | None, terminal: str = "") -> Iterator[str]:
    """The lines of it, before they are redacted. `terminal`: where it is asked for from the app, that app's own."""
    yield "# What went wrong\n\nWrite here what you did, what you expected, and what happened instead.\n"
    yield "## What works here\n"
    for one in examine(options):
        if one.what == "terminal" and terminal:
            yield f"- {terminal}"
            continue
        yield f"- {one.state}: {one.what}: {one.found} {one.do}".rstrip()
    yield "\n## Settings that somebody set\n"
    for key, value in leaves(base.config.model_dump(mode="json")):
        origin = base.config.origin(key)
        if origin != "default":
            yield f"- {key} = {json.dumps(value, ensure_ascii=False)}  ({origin})"
    if folder is None:
        yield "\nNo session is recorded here."
        return
    records = read_end(folder, NEWEST)
    yield f"\n## Session {folder.name}\n"
    yield from _events(records)
    yield from _faults(records, folder)
    yield from _of_the_screen(base, folder.name)


def _events(records: Sequence[Record]) -> Iterator[str]:
    """Kinds only: what was said and done is the user's."""
    counts = Counter(_kind(one) for one in records)
    yield f"Of the newest {len(records)} events: " + ", ".join(f"{n} {kind}" for kind, n in counts.items())
    yield "\nThe last ones:\n"
    for one in records[-KINDS:]:
        yield f"- {one.seq} {_kind(one)}"


def _kind(record: Record) -> str:
    return record.payload.kind if isinstance(record, Envelope) else "unknown"


def _faults(records: Sequence[Record], folder: Path) -> Iterator[str]:
    found = [
        one.payload
        for one in records
        if isinstance(one, Envelope) and isinstance(one.payload, ErrorRaised | ModelFailed)
    ]
    yield "\n## The newest faults\n" if found else "\nNo fault is recorded."
    for fault in found[-FAULTS:]:
        yield f"- {fault.kind}: {_short(fault.message)} {_short(fault.hint)}".rstrip()
        if isinstance(fault, ErrorRaised) and fault.detail:
            whole = (
                blobs_of(folder).find(fault.detail.blob_sha256) if not isinstance(fault.detail, str) else None
            )
            detail = text_preview(fault.detail) if whole is None else whole.decode("utf-8", "replace")
            yield "\n" + "\n".join(f"      {line}" for line in _short(detail).splitlines()) + "\n"


def _of_the_screen(base: Ground, session: str) -> Iterator[str]:
    """What the app wrote down of this session: each fault begins with a line of its time and session."""
    try:
        content = read_regular(screen_faults(base.config.data_dir), MOST_BYTES) or b""
    except OSError:  # none was written
        return
    told = [
        one
        for one in content.decode("utf-8", "replace").split("\n\n")
        if f" {session} " in one.split("\n")[0]
    ]
    if told:
        yield "\n## The newest faults of the screen\n"
        for one in told[-FAULTS:]:
            yield "\n".join(f"    {line}" for line in _short(one).strip().splitlines()) + "\n"


def _short(text: str) -> str:
    """The beginning and the end of a long text, without the words that the cut goes through: half a secret is known to
    nobody."""
    if len(text) <= FIRST + LAST:
        return text
    first, last = text[:FIRST], text[-LAST:]
    first = first[: max(first.rfind(" "), first.rfind("\n")) + 1]
    last = last[min(at for at in (last.find(" "), last.find("\n"), len(last)) if at >= 0) :]
    return f"{first}\n[… {len(text) - len(first) - len(last)} characters left out …]\n{last}"
