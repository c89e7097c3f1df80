"""A private copy of a trusted project's plugins, from which they are loaded.

Invariant: the copy holds exactly the bytes that were trusted, whatever the project's files have become since; only the
user can write to it; it is replaced whole.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tui_agent.config.project_files import ProjectFiles
from tui_agent.errors import PluginError

OURS = "__pycache__"


def lay_out(files: ProjectFiles | None, below: str, root: Path) -> Path | None:
    """A folder under `root` with the trusted files that stand `below` this folder of the project; None where there are
    none. Raises `PluginError` where it cannot be written."""
    if files is None:
        return None
    inside = f"{below}/"
    wanted = {
        one.name.removeprefix(inside): one.content for one in files.files if one.name.startswith(inside)
    }
    if not wanted:
        return None
    place = root / files.key
    try:
        if _read(place) != wanted:
            _replace(place, wanted)
    except OSError as error:
        raise PluginError(
            f"The trusted plugins cannot be copied to {place}: {error.strerror}.",
            hint="Check the folder's permissions and space.",
        ) from error
    return place


def _read(place: Path) -> dict[str, bytes] | None:
    """What the copy holds, without what Python adds; None where it is no folder of plain files."""
    if not place.is_dir() or place.is_symlink():
        return None
    found: dict[str, bytes] = {}
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name != OURS]
        for name in (*names, *folders):
            path = Path(folder, name)
            if path.is_symlink():
                return None
            if path.is_file():
                found[path.relative_to(place).as_posix()] = path.read_bytes()
    return found


def _replace(place: Path, wanted: Mapping[str, bytes]) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        for name, content in wanted.items():
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
