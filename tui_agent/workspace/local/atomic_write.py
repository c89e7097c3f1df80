"""A file given its new content as a whole, or not at all.

Invariants: until the new content is whole and on the disk, nothing has a name that anyone looks for: it has none at all
where the file system allows that, else one that cannot be guessed and is never shared (O_EXCL, O_NOFOLLOW). What a
killed process left under such a name is known by its form and by a lock that died with it, and is taken away at the
next change in that folder. A link to the old file keeps the old content: hard links are cut, never written through.
"""

import errno
import fcntl
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from tui_agent.workspace.local.path_spelling import MAX_LISTED

LEFTOVER = re.compile(r"\.tui-agent-[0-9a-f]{24}\.tmp")
_NOT_TAKEN_OVER = frozenset({"security.capability", "security.ima", "security.evm"})
"""Marks that hold for the old content only; writing in place would take them away too."""
_ACL = "system.posix_acl_access"
_NO_NAMELESS = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOTDIR})


@dataclass(frozen=True, slots=True)
class Standing:
    """A file as it stands before a change."""

    digest: str
    found: os.stat_result
    marks: tuple[tuple[str, bytes], ...] = ()
    """Its extended attributes, access lists among them."""


def marks_of(fd: int) -> tuple[tuple[str, bytes], ...]:
    """The extended attributes that a new file takes over."""
    if sys.platform != "linux":
        return ()
    found: list[tuple[str, bytes]] = []
    with suppress(OSError):
        for name in os.listxattr(fd):
            if name not in _NOT_TAKEN_OVER:
                with suppress(OSError):
                    found.append((name, os.getxattr(fd, name)))
    return tuple(found)


def put(
    name: str, at: int, data: bytes, standing: Standing | None, ready: Callable[[], None]
) -> os.stat_result:
    """Make the file `name` in the open folder, or replace it.

    `ready` is called when everything but the new name is done, and stops it by raising. Raises `FileExistsError` where
    a new file's name was taken meanwhile.
    """
    temp = f".tui-agent-{secrets.token_hex(12)}.tmp"
    fd, named = _opened(temp, at, 0o666 if standing is None else 0o600)
    try:
        with suppress(OSError):  # some network file systems have no locks; their leftovers are taken at once
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _write_all(fd, data)
        if standing is not None:
            _take_over(fd, standing)
        os.fsync(fd)
        found = os.fstat(fd)
        if standing is None:
            _put_new(fd, temp if named else "", name, at, ready)
        else:
            if not named:
                _give_name(fd, temp, at)
                named = True
            ready()
            os.replace(temp, name, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        if named:
            with suppress(OSError):
                os.unlink(temp, dir_fd=at)
        raise
    finally:
        os.close(fd)
    os.fsync(at)
    return found


def sweep(at: int) -> int:
    """Take away what killed processes left in an open folder; how many files that were."""
    taken = 0
    with os.scandir(at) as entries:
        left = [entry.name for entry in islice(entries, MAX_LISTED) if LEFTOVER.fullmatch(entry.name)]
    for name in left:
        with suppress(OSError):
            taken += _taken(name, at)
    return taken


def _taken(name: str, at: int) -> bool:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return False
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while its maker lives
        if os.stat(name, dir_fd=at, follow_symlinks=False).st_ino != found.st_ino:
            return False
        os.unlink(name, dir_fd=at)
    finally:
        os.close(fd)
    return True


def _opened(temp: str, at: int, mode: int) -> tuple[int, bool]:
    """A new file in the folder, and whether it has its name already."""
    nameless = getattr(os, "O_TMPFILE", 0)
    if nameless and os.path.isdir("/proc/self/fd"):  # noqa: PTH112 - its name is given by way of this folder
        try:
            return os.open(".", nameless | os.O_WRONLY | os.O_CLOEXEC, mode, dir_fd=at), False
        except OSError as error:
            if error.errno not in _NO_NAMELESS:
                raise
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(temp, flags, mode, dir_fd=at), True


def _give_name(fd: int, name: str, at: int) -> None:
    os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=at, follow_symlinks=True)


def _put_new(fd: int, temp: str, name: str, at: int, ready: Callable[[], None]) -> None:
    """Give a new file its name without ever replacing one that appeared meanwhile."""
    if not temp:
        _give_name(fd, name, at)
        return
    try:
        os.link(temp, name, src_dir_fd=at, dst_dir_fd=at)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links; there the check and the rename are two operations.
        ready()
        os.replace(temp, name, src_dir_fd=at, dst_dir_fd=at)
        return
    os.unlink(temp, dir_fd=at)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _take_over(fd: int, standing: Standing) -> None:
    """Owner, access lists and mode of the old file, as far as they may be given away.

    Never the bits that let a program run as its owner or group: they were granted to the old content.
    """
    was = standing.found
    try:
        os.fchown(fd, was.st_uid, was.st_gid)
    except PermissionError:
        with suppress(PermissionError):
            os.fchown(fd, -1, was.st_gid)
    if sys.platform == "linux":
        if _ACL not in dict(standing.marks):
            with suppress(OSError):  # one that the folder gives to every new file
                os.removexattr(fd, _ACL)
        for name, value in standing.marks:
            with suppress(OSError):
                os.setxattr(fd, name, value)
    os.fchmod(fd, stat.S_IMODE(was.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))
