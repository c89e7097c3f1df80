"""Private copies of a trusted project's plugins. The plugins are loaded from these copies.

Invariant: a copy contains exactly the bytes that were trusted.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tui_agent.config.project.project_files import ProjectFiles
from tui_agent.errors import PluginError, os_errors_as

CACHE_FOLDER = "__pycache__"


def copy_plugins(files: ProjectFiles | None, below: str, root: Path) -> Path | None:
    """Copy a project's trusted plugins to a folder under `root`, and return the copy's folder.

    `files`: the project's trusted files.
    `below`: the project's folder with the plugins.

    Return None if the folder `below` has no trusted files. Raise `PluginError` if the copy cannot be written.
    """
    if files is None:
        return None
    inside = f"{below}/"
    contents = {
        file.name.removeprefix(inside): file.content for file in files.files if file.name.startswith(inside)
    }
    if not contents:
        return None
    place = root / files.key
    with os_errors_as(
        PluginError,
        f"The trusted plugins cannot be copied to {place}",
        hint="Check the folder's permissions and space.",
    ):
        if _read_copy(place) != contents:
            _write_copy(place, contents)
    return place


def _read_copy(place: Path) -> dict[str, bytes] | None:
    """Return the files of a plugin's copy, except Python's caches. Return None if there is no valid copy."""
    if not place.is_dir() or place.is_symlink():
        return None
    contents: dict[str, bytes] = {}
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name != CACHE_FOLDER]
        for name in (*names, *folders):
            path = Path(folder, name)
            if path.is_symlink():
                return None
            if path.is_file():
                contents[path.relative_to(place).as_posix()] = path.read_bytes()
    return contents


def _write_copy(place: Path, contents: Mapping[str, bytes]) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        for name, content in contents.items():
            path = fresh / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(content)
        if place.is_symlink():
            place.unlink()
        elif place.exists():
            shutil.rmtree(place)
        fresh.rename(place)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
