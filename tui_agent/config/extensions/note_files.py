"""Location and listing of the notes that the agent keeps about a project.

Invariant: listing creates nothing, and links are not followed.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tui_agent.config.paths import project_root
from tui_agent.config.settings.settings import Config
from tui_agent.config.small_files import read_regular
from tui_agent.fast_dataclass import dataclass

MAX_LISTED: Final = 500
"""Maximum number of notes that are listed with their titles."""
MAX_BYTES: Final = 200_000
"""Maximum bytes read of one note."""


@dataclass(frozen=True, slots=True)
class NoteLocation:
    """A note's file, its modification time (seconds since 1970) and its size in bytes."""

    path: Path
    modified: float
    size: int


@dataclass(frozen=True, slots=True)
class NoteFile(NoteLocation):
    """A note about a project, with its title."""

    title: str


def notes_folder(config: Config, workspace: Path | None = None) -> Path:
    """Return the folder of the notes about a project. The folder need not exist.

    `workspace`: a folder of the project. If it is None, use the project of `config`.
    """
    paths = config.paths
    top = config.notes_dir if config.notes_dir != Path() else paths.data_dir / "notes"
    project = (paths.project if workspace is None else project_root(workspace, paths.home)).resolve()
    name = re.sub(r"[^\w.-]+", "-", project.name).strip("-.")[:40] or "project"
    key = hashlib.sha256(str(project).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return top / f"{name}-{key}"


def list_note_locations(folder: Path) -> list[NoteLocation]:
    """List all notes in `folder`, newest first. This function blocks."""
    places: list[NoteLocation] = []
    for subfolder in _scan_folder(folder, places):
        _scan_folder(subfolder, places)
    return sorted(places, key=lambda place: (-place.modified, str(place.path)))


def list_notes(folder: Path) -> list[NoteFile]:
    """List the newest notes in `folder` with their titles, newest first. This function blocks."""
    listed: list[NoteFile] = []
    for place in list_note_locations(folder)[:MAX_LISTED]:
        text = read_note(place.path)
        if text is not None:
            title = extract_title(text.splitlines()) or place.path.stem
            listed.append(NoteFile(place.path, place.modified, place.size, title))
    return listed


def read_note(path: Path) -> str | None:
    """Return the first `MAX_BYTES` of a note as text, or None if the file is unreadable or binary.

    This function blocks.
    """
    try:
        content = read_regular(path, MAX_BYTES, os.O_NOFOLLOW)
    except OSError:
        return None
    return None if content is None or b"\0" in content else content.decode("utf-8", "replace")


def extract_title(lines: Sequence[str]) -> str:
    """Return the first heading in the lines of a note, or an empty string if there is none."""
    return next(
        (heading for line in lines if line.startswith("#") and (heading := line.lstrip("# ").strip())), ""
    )


def _scan_folder(folder: Path, places: list[NoteLocation]) -> list[Path]:
    subfolders: list[Path] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                subfolders.append(path)
            elif entry.name.endswith(".md") and entry.is_file(follow_symlinks=False):
                with suppress(OSError):  # the note was deleted since the scan
                    info = entry.stat(follow_symlinks=False)
                    places.append(NoteLocation(path, info.st_mtime, info.st_size))
    return subfolders
