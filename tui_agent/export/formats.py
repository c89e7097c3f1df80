"""Export formats by name: the function that exports to each format, and the ending of its files."""

import json
from functools import partial
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.export.archive.checkpoint_export import export_bundle
from tui_agent.export.archive.session_archive import export_archive
from tui_agent.export.atif import to_atif
from tui_agent.export.export_content import load_export
from tui_agent.export.html.page import to_html
from tui_agent.export.markdown import to_markdown
from tui_agent.export.otel import to_otel
from tui_agent.export.output_file import write_new
from tui_agent.export.redacted_log import to_jsonl
from tui_agent.export.trajectory.trajectory_file import BUNDLE, TRACE, update_bundle, update_trajectory
from tui_agent.store.redaction.redactor import Redactor

FORMATS = {
    "markdown": "md",
    "html": "html",
    "jsonl": "jsonl",
    "atif": "atif.json",
    "otel": "otlp.json",
    "bundle": "bundle",
    "archive": "tar.gz",
    "trajectory": "",
}
"""Maps the name of an export format to its file ending."""
TEXT_FORMATS = frozenset(("markdown", "html", "jsonl", "atif", "otel"))
"""The names of the export formats that can be printed on standard output."""


def export_text(folder: Path, redactor: Redactor, form: str, everything: bool = False) -> str:
    """Return one session in the format `form`, one of `TEXT_FORMATS`.

    `everything`: only for `jsonl`; True to include the events outside the current branch.
    """
    if form == "jsonl":
        return to_jsonl(folder, redactor, everything=everything).decode("utf-8", "replace")
    if form in ("atif", "otel"):
        document = to_atif(folder, redactor) if form == "atif" else to_otel(folder, redactor)
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    content = load_export(folder, redactor)
    return to_html(content) if form == "html" else to_markdown(content)


async def export(
    folder: Path,
    redactor: Redactor,
    form: str,
    dest: Path,
    *,
    everything: bool = False,
    files: bool = True,
    redact_files: bool = False,
) -> None:
    """Write one session to the file `dest` in the format `form`.

    - `everything`: only for `jsonl`; True to include the events outside the current branch.
    - `files`, `redact_files`: as in `export_archive`.
    Raise `UsageError` if `dest` exists, `StoreFull` if `dest` cannot be written, and `CheckpointError` if the
    checkpoints cannot be read.
    """
    if form in TEXT_FORMATS:
        text = await run_sync(export_text, folder, redactor, form, everything)
        await run_sync(write_new, dest, text.encode())
    elif form == "bundle":
        await export_bundle(folder, dest, redactor if redact_files else None)
    else:
        await export_archive(folder, redactor, dest, files=files, redact_files=redact_files)


async def export_trajectory(folder: Path, redactor: Redactor, dest: Path, *, files: bool = True) -> str:
    """Write or update a session's `trace.parquet` and (with `files`) `repo.bundle` in the folder `dest`.

    Return a sentence if the parquet file was damaged, else an empty string. Raise `StoreFull` if a file cannot be
    written.
    """
    has_bundle = files and await update_bundle(folder, dest)
    run_fields = {"bundle_uri": BUNDLE} if has_bundle else {}
    return await run_sync(partial(update_trajectory, folder, dest, redactor, **run_fields))


def trajectory_files(dest: Path) -> list[Path]:
    """Return the files of the trajectory in the folder `dest`."""
    return [path for name in (TRACE, BUNDLE) if (path := dest / name).exists()]
