"""Write a session to a file (`sessions export`), or create a session from an archive (`sessions import`)."""

import argparse
import re
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from tui_agent.cli.console.output import say, say_json, say_result, say_text, warn
from tui_agent.cli.console.shared_options import RECORDING_HELP, Verbs, add_flag, add_option, load_context
from tui_agent.errors import UsageError
from tui_agent.export.archive.session_archive import import_archive
from tui_agent.export.formats import (
    FORMATS,
    TEXT_FORMATS,
    export,
    export_text,
    export_trajectory,
    trajectory_files,
)
from tui_agent.export.object_storage import S3_SCHEME, download_file, parse_address, upload_files
from tui_agent.export.output_file import output_path
from tui_agent.store.log_reader import require_readable
from tui_agent.units import format_bytes
from tui_agent.wiring.startup_context import StartupContext

EXAMPLES = """\
examples:
  tui-agent sessions export latest
  tui-agent sessions export ses_01 --format markdown -o -
  tui-agent sessions export ses_01 --format archive -o ~/ses_01.tar.gz
  tui-agent sessions export ses_01 --format bundle -o repo.bundle && git clone repo.bundle files
  tui-agent sessions export ses_01 --format trajectory --to s3://bucket/runs

Secrets are removed from all texts, but not from files: a bundle, an archive and a trajectory contain checkpoints of the
workspace's files. To remove secrets from a bundle or an archive too, add --redact. To leave out the files, add --no-files.
"""


IMPORT_EXAMPLES = """\
examples:
  tui-agent sessions import ~/ses_01.tar.gz
  tui-agent sessions import s3://bucket/runs/ses_01.tar.gz
"""


def add_verbs(verbs: Verbs) -> None:
    """Add the subcommands `export` and `import` to `verbs`."""
    out = verbs.add("export", export_session, "write a session to a file", examples=EXAMPLES)
    out.add_argument("id", metavar="ID", help=RECORDING_HELP)
    add_option(
        out,
        "--format FORMAT",
        f"file format: {', '.join(FORMATS)} (default: html)",
        choices=tuple(FORMATS),
        default="html",
    )
    add_option(
        out,
        "-o --output FILE",
        "the file to write, or a folder for a new file; - for standard output "
        "(default: a new file in your documents or downloads folder)",
    )
    add_option(
        out,
        "--to URL",
        "upload the file to URL instead of writing it here (s3://BUCKET/FOLDER; needs tui-agent[s3])",
    )
    add_flag(out, "--all", "for jsonl: also events of abandoned branches")
    add_flag(out, "--no-files", "for archive and trajectory: leave out the checkpoints")
    add_flag(out, "--redact", "for archive and bundle: also remove secrets from the workspace's files")
    importer = verbs.add(
        "import", import_session, "create a session from an archive", examples=IMPORT_EXAMPLES
    )
    importer.add_argument(
        "file", metavar="FILE", help="an archive written by sessions export, or its s3:// address"
    )


def export_session(arguments: argparse.Namespace) -> None:
    """Write one session to a new file, to standard output or to object storage."""
    base = load_context(arguments)
    folder = base.store.find(arguments.id)
    require_readable(folder)
    form, output = arguments.format, arguments.output
    if arguments.to and output:
        raise UsageError("-o and --to are two different destinations.", hint="Use only one of them.")
    if output == "-":
        if form not in TEXT_FORMATS:
            raise UsageError(f"{form} cannot be written to standard output.", hint="Name a file with -o.")
        say_text(export_text(folder, base.redactor, form, arguments.all))
        return
    if arguments.to:
        parse_address(arguments.to)
    if form not in TEXT_FORMATS and not arguments.redact and not (form != "bundle" and arguments.no_files):
        secret = (
            "To leave out the files, add --no-files."
            if form == "trajectory"
            else "To remove secrets, add --redact."
        )
        warn(f"This export contains the workspace's files unchanged, including any keys in them. {secret}")
    if arguments.to:
        with TemporaryDirectory(prefix="tui-agent-export-") as temporary_folder:
            dest = _write_export(arguments, base, folder, temporary_folder)
            files = {str(path.relative_to(temporary_folder)): path for path in _exported_files(dest)}
            paths = upload_files(files, arguments.to)
    else:
        dest = _write_export(arguments, base, folder, output)
        paths = [str(dest.absolute())]
        size = sum(path.stat().st_size for path in _exported_files(dest))
    text = "\n".join(paths) if arguments.to else f"{dest}  {format_bytes(size)}"
    result = {"session": folder.name, "format": form, "path": paths[0]}
    say_result({**result, "paths": paths} if arguments.to else result, text, as_json=arguments.json)


def _write_export(
    arguments: argparse.Namespace, base: StartupContext, folder: Path, output: str | None
) -> Path:
    """Write the export to the file or folder `output`, and return the path of the export."""
    form, data_dir = arguments.format, base.config.data_dir
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", folder.name)
    if form == "trajectory":
        if arguments.redact:
            raise UsageError(
                "--redact would change the commits of a trajectory.",
                hint="Leave out its files with --no-files.",
            )
        dest = (Path(output).expanduser() if output else data_dir / "trajectories") / stem
        write = partial(export_trajectory, folder, base.redactor, dest, files=not arguments.no_files)
        note = anyio.run(write)
        if note:
            warn(note)
        return dest
    dest = output_path(output, data_dir, base.options.cwd, stem, FORMATS[form])
    options_of_export = {
        "everything": arguments.all,
        "files": not arguments.no_files,
        "redact_files": arguments.redact,
    }
    anyio.run(partial(export, folder, base.redactor, form, dest, **options_of_export))
    return dest


def _exported_files(dest: Path) -> list[Path]:
    return trajectory_files(dest) if dest.is_dir() else [dest]


def import_session(arguments: argparse.Namespace) -> None:
    """Create a session from an archive, and print how to open it."""
    base = load_context(arguments)
    with TemporaryDirectory(prefix="tui-agent-import-") as temporary_folder:
        is_remote = arguments.file.startswith(S3_SCHEME)
        archive = (
            download_file(arguments.file, Path(temporary_folder))
            if is_remote
            else Path(arguments.file).expanduser()
        )
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
        return
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
