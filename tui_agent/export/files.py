"""Export formats by name, and where each one is written."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from anyio.to_thread import run_sync

from tui_agent.export.archive import export_archive
from tui_agent.export.bundle import export_bundle
from tui_agent.export.export_content import load_export
from tui_agent.export.html.page import to_html
from tui_agent.export.markdown import to_markdown
from tui_agent.export.output_file import unused_path, write_new
from tui_agent.export.redacted_log import to_jsonl
from tui_agent.store.redaction.redactor import Redactor

TextOf = Callable[[Path, Redactor, bool], str]


class Format(NamedTuple):
    """A format: its file ending, and the function that returns its text (None for formats that are files only)."""

    ending: str
    text: TextOf | None = None


def _markdown(folder: Path, redactor: Redactor, everything: bool) -> str:
    return to_markdown(load_export(folder, redactor))


def _html(folder: Path, redactor: Redactor, everything: bool) -> str:
    return to_html(load_export(folder, redactor))


def _jsonl(folder: Path, redactor: Redactor, everything: bool) -> str:
    return to_jsonl(folder, redactor, everything=everything).decode("utf-8", "replace")


FORMATS: dict[str, Format] = {
    "markdown": Format("md", _markdown),
    "html": Format("html", _html),
    "jsonl": Format("jsonl", _jsonl),
    "bundle": Format("bundle"),
    "archive": Format("tar.gz"),
}


def default_name(place: Path, folder: Path, form: str) -> Path:
    """Return an unused file name in `place`."""
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", folder.name)
    return unused_path(place, stem, FORMATS[form].ending)


async def export(
    folder: Path, redactor: Redactor, form: str, dest: Path, everything: bool = False, files: bool = True
) -> None:
    """Write one session to `dest`. Raises `UsageError` if it exists, `StoreFull`, `CheckpointError`."""
    text = FORMATS[form].text
    if text is not None:
        await run_sync(lambda: write_new(dest, text(folder, redactor, everything).encode()))
    elif form == "bundle":
        await export_bundle(folder, dest)
    else:
        await export_archive(folder, redactor, dest, files=files)
