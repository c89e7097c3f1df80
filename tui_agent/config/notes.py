"""L2: where the notes of a project lie, and which there are, for whoever shows them.

Invariant: looking makes nothing; a project is known by its real path, so that a copy has notes of its own.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tui_agent.config.files import read_regular
from tui_agent.config.settings import Config

MOST: Final = 500
MAX_BYTES: Final = 200_000


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note: its file, its title, when it was last written (seconds since 1970), its bytes."""

    path: Path
    title: str
    at: float
    size: int


def notes_folder(config: Config) -> Path:
    """The folder of this project's notes; it need not be there."""
    top = config.notes_dir if config.notes_dir != Path() else config.paths.data_dir / "notes"
    project = config.paths.project.resolve()
    name = re.sub(r"[^\w.-]+", "-", project.name).strip("-.")[:40] or "project"
    key = hashlib.sha256(str(project).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return top / f"{name}-{key}"


def notes(folder: Path) -> list[NoteFile]:
    """The notes, the newest first. Blocking."""
    found: list[NoteFile] = []
    try:
        paths = sorted(one for one in folder.glob("*.md") if one.is_file() and not one.is_symlink())
    except OSError:
        return []  # no such folder, or none that can be read: there is nothing to show
    for path in paths[:MOST]:
        text = text_of_note(path)
        if text is not None:
            title = next(
                (line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("#")), ""
            )
            about = path.stat()
            found.append(NoteFile(path, title or path.stem, about.st_mtime, about.st_size))
    return sorted(found, key=lambda one: (-one.at, one.path.name))


def text_of_note(path: Path) -> str | None:
    """A note's text; None where it cannot be read. Blocking."""
    try:
        content = read_regular(path, MAX_BYTES)
    except OSError:
        return None
    return None if content is None else content.decode("utf-8", "replace")
