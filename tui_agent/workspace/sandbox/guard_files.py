"""Identities of the files at guarded paths, recorded before a sandbox is created.

A mount is made by name, and another running command could replace the file at that name for a moment. So the
files are recorded without following links, and compared inside the sandbox before the command starts (see
`landlock`).

Invariant: only reads.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence

from tui_agent.workspace.local.nofollow import entered
from tui_agent.workspace.sandbox.mounts import Places

_LINK = "a symbolic link cannot be protected"
_SWAPPED = "two files with secrets were swapped while the command was prepared"


def noted(found: Places, stands: Sequence[str], opened: Sequence[str] = ()) -> Iterator[str]:
    """Yield arguments for `landlock`; `stands` covers each of `found.masked`, `opened` paths are listed
    elsewhere.

    Raises OSError if a path is missing, a link, or below a link by now.
    """
    covers = [folder for folder in (*found.hidden, *found.masked) if folder.endswith("/")]
    hidden = {folder.rstrip("/") for folder in found.hidden}
    masked = {folder.rstrip("/") for folder in found.masked} | hidden
    for path in found.writable:
        if path not in opened and path not in hidden and not _is_below(path, covers):
            yield f"={_format_identity(_stat_path(path)[1])}:{path}"
    for path in found.kept:
        if path not in masked and not _is_below(path, covers):
            parent, status = _stat_path(path)
            yield f"!{_format_identity(parent)}:{_format_identity(status)}:{path}"
    places = set[tuple[int, int, str]]()
    for path, cover in zip(found.masked, stands, strict=True):
        path_without_slash = path.rstrip("/")
        if path_without_slash in hidden or _is_below(path_without_slash, covers):
            continue
        parent, _ = _stat_path(path_without_slash)
        place = (parent.st_dev, parent.st_ino, path_without_slash.rpartition("/")[2])
        if place in places:
            raise OSError(errno.ESTALE, _SWAPPED, path_without_slash)
        places.add(place)
        yield f"!{_format_identity(parent)}:{_format_identity(os.lstat(cover))}:{path_without_slash}"


def _stat_path(path: str) -> tuple[os.stat_result, os.stat_result]:
    """Return the status of a path's folder and of the path; neither may be a link, nor any folder above."""
    folder, _, name = path.rpartition("/")
    try:
        folder_fd = entered([part for part in folder.split("/") if part])
        try:
            parent, status = (
                os.fstat(folder_fd),
                os.stat(name or ".", dir_fd=folder_fd, follow_symlinks=False),
            )
        finally:
            os.close(folder_fd)
    except OSError as error:
        raise OSError(error.errno, _LINK if error.errno == errno.ELOOP else error.strerror, path) from error
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, _LINK, path)
    return parent, status


def _format_identity(info: os.stat_result) -> str:
    return f"{info.st_dev}:{info.st_ino}"


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(folder) for folder in folders)
