"""Write a session to a file (`sessions export`), or create a session from an archive (`sessions import`)."""

import argparse
import re
from functools import partial
from pathlib import Path

import anyio

from tui_agent.cli.context import load_context
from tui_agent.cli.options import RECORDING_HELP, Verbs
from tui_agent.cli.output import say, say_json, say_result, say_text, warn
from tui_agent.errors import UsageError
from tui_agent.export.archive_import import import_archive
from tui_agent.export.files import FORMATS, TEXT_FORMATS, export, export_text
from tui_agent.export.output_file import output_path
from tui_agent.units import format_bytes

EXAMPLES = """\
examples:
  tui-agent sessions export latest
  tui-agent sessions export ses_01 --format markdown -o -
  tui-agent sessions export ses_01 --format archive -o ~/ses_01.tar.gz
  tui-agent sessions export ses_01 --format bundle -o repo.bundle && git clone repo.bundle files
  tui-agent sessions import ~/ses_01.tar.gz

Secrets are removed from all texts, but not from files: a bundle and an archive contain checkpoints of the workspace's
files. To remove secrets from these too, add --redact. To export an archive without them, add --no-files.
"""


def add_verbs(verbs: Verbs) -> None:
    """Add the verbs `export` and `import` to `verbs`."""
    out = verbs.add("export", export_session, "write a session to a file", examples=EXAMPLES)
    out.add_argument("id", metavar="ID", help=RECORDING_HELP)
    out.add_argument("--format", choices=tuple(FORMATS), default="html", help="file format (default: html)")
    out.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the file to write, or a folder for a new file; - for standard output "
        "(default: a new file in your documents or downloads folder)",
    )
    out.add_argument("--all", action="store_true", help="for jsonl: also events of abandoned branches")
    out.add_argument("--no-files", action="store_true", help="for archive: leave out the checkpoints")
    out.add_argument(
        "--redact",
        action="store_true",
        help="for archive and bundle: also remove secrets from the workspace's files",
    )
    importer = verbs.add("import", import_session, "create a session from an archive", examples=EXAMPLES)
    importer.add_argument("file", metavar="FILE", type=Path, help="an archive written by sessions export")


def export_session(arguments: argparse.Namespace) -> int:
    """Write one session to a new file or to standard output."""
    base = load_context(arguments)
    folder = base.store.find(arguments.id)
    form, output = arguments.format, arguments.output
    if output == "-":
        if form not in TEXT_FORMATS:
            raise UsageError(f"{form} cannot be written to standard output.", hint="Name a file with -o.")
        say_text(export_text(folder, base.redactor, form, arguments.all))
        return 0
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", folder.name)
    dest = output_path(output, base.config.data_dir, base.options.cwd, stem, FORMATS[form])
    options_of_export = {
        "everything": arguments.all,
        "files": not arguments.no_files,
        "redact_files": arguments.redact,
    }
    anyio.run(partial(export, folder, base.redactor, form, dest, **options_of_export))
    if form not in TEXT_FORMATS and not arguments.redact and not (form == "archive" and arguments.no_files):
        warn(
            "This export contains the workspace's files as they were, with any keys in them. To remove secrets, add --redact."
        )
    say_result(
        {"session": folder.name, "format": form, "path": str(dest.absolute())},
        f"{dest}  {format_bytes(dest.stat().st_size)}",
        as_json=arguments.json,
    )
    return 0


def import_session(arguments: argparse.Namespace) -> int:
    """Create a session from an archive, and print how to open it."""
    base = load_context(arguments)
    archive = arguments.file.expanduser()
    if not archive.is_file():
        raise UsageError(f"File not found: {archive}.")
    imported = anyio.run(import_archive, archive, base.store.root, base.ids.session())
    manifest, workspace = imported.manifest, imported.manifest.workspace
    has_workspace = Path(workspace).is_dir()
    if arguments.json:
        say_json(
            {
                "session": imported.session,
                "exported_as": manifest.session,
                "events": manifest.events,
                "workspace": workspace,
                "workspace_there": has_workspace,
            }
        )
        return 0
    other = "" if imported.session == manifest.session else f" (exported as {manifest.session})"
    say(f"{imported.session}{other}: {manifest.events} events, {manifest.title or 'untitled'}")
    if has_workspace:
        say(
            f"The session's workspace is {workspace}. To open the session: tui-agent --session {imported.session}"
        )
    else:
        say(f"The session's workspace {workspace} was not found. To open the session in another folder:")
        say(f"  tui-agent --session {imported.session} -C DIR")
    if imported.trouble:
        warn(f"The session's checkpoints were not imported: {imported.trouble}")
    return 0
