"""What must be found at the names that guard a workspace, noted before a sandbox is made.

A mount is made by name, and a command that runs meanwhile can put something else at the name for that moment. So what was
there is noted, with no link followed, and the sandbox is compared with it before the command starts (see `landlock`).
Invariant: looks only.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence

from tui_agent.workspace.local.nofollow import entered
from tui_agent.workspace.sandbox.mounts import Places

_LINK = "It is a symbolic link, which cannot be protected"
_SAME = "Two files with secrets changed places while the command was made ready"


def noted(found: Places, stands: Sequence[str], opened: Sequence[str] = ()) -> Iterator[str]:
    """Words for the further line; `stands` is what is laid at each of `found.masked`, `opened` is told of elsewhere.

    Raises OSError where one is gone, or a link, or where links lead to it by now.
    """
    covers = [each for each in (*found.hidden, *found.masked) if each.endswith("/")]
    hidden = {each.rstrip("/") for each in found.hidden}
    masked = {each.rstrip("/") for each in found.masked} | hidden
    for path in found.writable:
        if path not in opened and path not in hidden and not _below(path, covers):
            yield f"={_told(_seen(path)[1])}:{path}"
    for path in found.kept:
        if path not in masked and not _below(path, covers):
            above, own = _seen(path)
            yield f"!{_told(above)}:{_told(own)}:{path}"
    places = set[tuple[int, int, str]]()
    for path, stand in zip(found.masked, stands, strict=True):
        plain = path.rstrip("/")
        if plain in hidden or _below(plain, covers):
            continue
        above, _ = _seen(plain)
        place = (above.st_dev, above.st_ino, plain.rpartition("/")[2])
        if place in places:
            raise OSError(errno.ESTALE, _SAME, plain)
        places.add(place)
        yield f"!{_told(above)}:{_told(os.lstat(stand))}:{plain}"


def _seen(path: str) -> tuple[os.stat_result, os.stat_result]:
    """The folder that a path lies in, and what is there; neither is a link, nor is any folder above."""
    folder, _, name = path.rpartition("/")
    try:
        at = entered([each for each in folder.split("/") if each])
        try:
            above, own = os.fstat(at), os.stat(name or ".", dir_fd=at, follow_symlinks=False)
        finally:
            os.close(at)
    except OSError as error:
        raise OSError(error.errno, _LINK if error.errno == errno.ELOOP else error.strerror, path) from error
    if stat.S_ISLNK(own.st_mode):
        raise OSError(errno.ELOOP, _LINK, path)
    return above, own


def _told(info: os.stat_result) -> str:
    return f"{info.st_dev}:{info.st_ino}"


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(each) for each in folders)
