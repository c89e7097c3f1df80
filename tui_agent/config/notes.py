"""Where the notes of a project lie, and which there are, for whoever searches or shows them.

Invariant: looking makes nothing; a project is known by its real path, so that a copy has notes of its own. Only plain
files directly in the folder or one folder below count; nothing that a link leads to is read.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tui_agent.config.files import read_regular
from tui_agent.config.settings import Config

MOST: Final = 500
"""Notes that are listed with their titles."""
MAX_BYTES: Final = 200_000
"""Of a note so much is read."""


@dataclass(frozen=True, slots=True)
class NotePlace:
    """A note's file, when it was last written (seconds since 1970), its bytes."""

    path: Path
    at: float
    size: int


@dataclass(frozen=True, slots=True)
class NoteFile(NotePlace):
    """A note with its title."""

    title: str


def notes_folder(config: Config) -> Path:
    """The folder of this project's notes; it need not be there."""
    top = config.notes_dir if config.notes_dir != Path() else config.paths.data_dir / "notes"
    project = config.paths.project.resolve()
    name = re.sub(r"[^\w.-]+", "-", project.name).strip("-.")[:40] or "project"
    key = hashlib.sha256(str(project).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return top / f"{name}-{key}"


def note_places(folder: Path) -> list[NotePlace]:
    """All notes, the newest first. Blocking."""
    found: list[NotePlace] = []
    for below in _look(folder, found):
        _look(below, found)
    return sorted(found, key=lambda one: (-one.at, str(one.path)))


def notes(folder: Path) -> list[NoteFile]:
    """The newest notes with their titles, the newest first. Blocking."""
    found: list[NoteFile] = []
    for one in note_places(folder)[:MOST]:
        text = text_of_note(one.path)
        if text is not None:
            found.append(NoteFile(one.path, one.at, one.size, title_of(text.splitlines()) or one.path.stem))
    return found


def text_of_note(path: Path) -> str | None:
    """A note's first `MAX_BYTES` as text; None where it cannot be read or is no text. Blocking."""
    try:
        content = read_regular(path, MAX_BYTES, os.O_NOFOLLOW)
    except OSError:
        return None
    return None if content is None or b"\0" in content else content.decode("utf-8", "replace")


def title_of(lines: Sequence[str]) -> str:
    """The first heading of a note with these lines; empty where there is none."""
    return next((said for line in lines if line.startswith("#") and (said := line.lstrip("# ").strip())), "")


def _look(folder: Path, found: list[NotePlace]) -> list[Path]:
    """Add the notes of one folder; the folders in it. One that cannot be read holds nothing for us."""
    below: list[Path] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                below.append(path)
            elif entry.name.endswith(".md") and entry.is_file(follow_symlinks=False):
                with suppress(OSError):  # it went away meanwhile
                    about = entry.stat(follow_symlinks=False)
                    found.append(NotePlace(path, about.st_mtime, about.st_size))
    return below
