"""Export formats by name, and the functions and file endings of each."""

from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.export.archive import export_archive
from tui_agent.export.bundle import export_bundle
from tui_agent.export.export_content import load_export
from tui_agent.export.html.page import to_html
from tui_agent.export.markdown import to_markdown
from tui_agent.export.output_file import write_new
from tui_agent.export.redacted_log import to_jsonl
from tui_agent.store.redaction.redactor import Redactor

FORMATS = {"markdown": "md", "html": "html", "jsonl": "jsonl", "bundle": "bundle", "archive": "tar.gz"}
"""Maps the name of each export format to its file ending."""
TEXT_FORMATS = frozenset(("markdown", "html", "jsonl"))
"""The names of the export formats that can be printed on standard output."""


def export_text(folder: Path, redactor: Redactor, form: str, everything: bool = False) -> str:
    """Return one session in the text format `form`."""
    if form == "jsonl":
        return to_jsonl(folder, redactor, everything=everything).decode("utf-8", "replace")
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

    Raises `UsageError` if `dest` exists, `StoreFull`, `CheckpointError`.
    """
    if form in TEXT_FORMATS:
        text = await run_sync(export_text, folder, redactor, form, everything)
        await run_sync(write_new, dest, text.encode())
    elif form == "bundle":
        await export_bundle(folder, dest, redactor if redact_files else None)
    else:
        await export_archive(folder, redactor, dest, files=files, redact_files=redact_files)
