"""A session as a file for others (`sessions export`), and such a file as a session again (`sessions import`)."""

import argparse
import sys
from pathlib import Path

import anyio

from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import say, say_json, say_text, size
from tui_agent.cli.trace import WHICH
from tui_agent.errors import UsageError
from tui_agent.export.archive_import import import_archive
from tui_agent.export.files import FORMATS, default_name, export
from tui_agent.wiring.base import ground

EXAMPLES = """\
examples:
  tui-agent sessions export latest
  tui-agent sessions export ses_01 --format markdown -o -
  tui-agent sessions export ses_01 --format archive -o ~/ses_01.tar.gz
  tui-agent sessions export ses_01 --format bundle -o repo.bundle && git clone repo.bundle files
  tui-agent sessions import ~/ses_01.tar.gz

Texts pass the redactor once more. A bundle, and the checkpoints in an archive, hold the workspace's files as they were:
an archive without them: --no-files.
"""


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """`export` and `import`, below `sessions`."""
    out = add_verb(verbs, "export", export_session, help="a session as a file for others", examples=EXAMPLES)
    out.add_argument("id", metavar="ID", help=WHICH)
    out.add_argument("--format", choices=tuple(FORMATS), default="html", help="what to write (default: html)")
    out.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to; - is standard output (default: a new file in the current folder)",
    )
    out.add_argument("--all", action="store_true", help="jsonl: the events of left branches too")
    out.add_argument("--no-files", action="store_true", help="archive: without the checkpoints of files")
    back = add_verb(verbs, "import", import_session, help="an archive as a session again", examples=EXAMPLES)
    back.add_argument("file", metavar="FILE", type=Path, help="what `sessions export --format archive` wrote")


def export_session(arguments: argparse.Namespace) -> int:
    """Write one session to a new file, or to standard output."""
    options = session_options(arguments, client="headless", interactive=False)
    base = ground(options)
    folder = base.store.find(arguments.id)
    form = arguments.format
    kind = FORMATS[form]
    if arguments.output == "-":
        if kind.text is None:
            raise UsageError(f"{form} is not text for standard output.", hint="Name a file with -o.")
        say_text(kind.text(folder, base.redactor, arguments.all))
        return 0
    dest = (
        Path(arguments.output).expanduser() if arguments.output else default_name(options.cwd, folder, form)
    )
    anyio.run(export, folder, base.redactor, form, dest, arguments.all, not arguments.no_files)
    if arguments.json:
        say_json({"session": folder.name, "format": form, "path": str(dest.absolute())})
    else:
        say(f"{dest}  {size(dest.stat().st_size)}")
    return 0


def import_session(arguments: argparse.Namespace) -> int:
    """Make a session of an archive."""
    base = ground(session_options(arguments, client="headless", interactive=False))
    archive = arguments.file.expanduser()
    if not archive.is_file():
        raise UsageError(f"There is no file {archive}.")
    made = anyio.run(import_archive, archive, base.store.root, base.ids.session())
    if arguments.json:
        say_json(
            {
                "session": made.session,
                "exported_as": made.manifest.session,
                "events": made.manifest.events,
                "workspace": made.manifest.workspace,
                "workspace_there": Path(made.manifest.workspace).is_dir(),
            }
        )
        return 0
    other = "" if made.session == made.manifest.session else f" (it was {made.manifest.session})"
    say(f"{made.session}{other}: {made.manifest.events} events, {made.manifest.title or 'untitled'}")
    workspace = made.manifest.workspace
    if Path(workspace).is_dir():
        say(f"It worked in {workspace}. Open it: tui-agent --session {made.session}")
    else:
        say(f"It worked in {workspace}, which is not there. Open it in the folder that takes its place:")
        say(f"  tui-agent --session {made.session} -C DIR")
    if made.trouble:
        say(f"tui-agent: Its checkpoints were left out: {made.trouble}", file=sys.stderr)
    return 0
