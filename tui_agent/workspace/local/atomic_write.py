"""Atomic replacement of a file's content.

Invariant: the new content gets the file's name only when it is complete and on disk.

Hard links to the old file keep the old content.
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
from itertools import islice

from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.local.path_spelling import MAX_LISTED

LEFTOVER_NAME = re.compile(r"\.tui-agent-[0-9a-f]{24}\.tmp")
_DROPPED_ATTRIBUTES = frozenset({"security.capability", "security.ima", "security.evm"})
"""Names of extended attributes that are not copied. They are valid only for the old content."""
_ACL = "system.posix_acl_access"
_UNNAMED_UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOTDIR})


@dataclass(frozen=True, slots=True)
class FileState:
    """State of a file before a change."""

    digest: str
    status: os.stat_result
    attributes: tuple[tuple[str, bytes], ...] = ()
    """The file's extended attributes, including access lists."""


def read_attributes(fd: int) -> tuple[tuple[str, bytes], ...]:
    """Return the extended attributes of an open file that must be copied to its replacement."""
    if sys.platform != "linux":
        return ()
    attributes: list[tuple[str, bytes]] = []
    with suppress(OSError):
        for name in os.listxattr(fd):
            if name not in _DROPPED_ATTRIBUTES:
                with suppress(OSError):
                    attributes.append((name, os.getxattr(fd, name)))
    return tuple(attributes)


def replace_file(
    name: str, folder_fd: int, data: bytes, state: FileState | None, check: Callable[[], None]
) -> os.stat_result:
    """Create or replace the file `name` in the open folder.

    `check`: called just before the file gets its name; an exception cancels the change.

    Raise `FileExistsError` if a new file's name was taken in the meantime.
    """
    temporary = f".tui-agent-{secrets.token_hex(12)}.tmp"
    fd, has_name = _open_temporary(temporary, folder_fd, 0o666 if state is None else 0o600)
    try:
        # The lock shows other processes that this file is in use. A file system without locks, such as some network
        # file systems, leaves it unprotected against `remove_leftovers`.
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _write_all(fd, data)
        if state is not None:
            _copy_metadata(fd, state)
        os.fsync(fd)
        status = os.fstat(fd)
        if state is None:
            _link_new(fd, temporary if has_name else "", name, folder_fd, check)
        else:
            if not has_name:
                _link_open_file(fd, temporary, folder_fd)
                has_name = True
            check()
            os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except BaseException:
        if has_name:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder_fd)
        raise
    finally:
        os.close(fd)
    os.fsync(folder_fd)  # the new name, too, must survive a crash of the system
    return status


def remove_leftovers(folder_fd: int) -> int:
    """Remove the leftovers of killed processes from an open folder; return their number."""
    removed = 0
    with os.scandir(folder_fd) as entries:
        leftovers = [
            entry.name for entry in islice(entries, MAX_LISTED) if LEFTOVER_NAME.fullmatch(entry.name)
        ]
    for name in leftovers:
        with suppress(OSError):
            removed += _remove_leftover(name, folder_fd)
    return removed


def _remove_leftover(name: str, folder_fd: int) -> bool:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder_fd)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return False
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while its writer is alive
        # The lock belongs to the open file. The name may already lead to another file.
        if os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_ino != status.st_ino:
            return False
        os.unlink(name, dir_fd=folder_fd)
    finally:
        os.close(fd)
    return True


def _open_temporary(temporary: str, folder_fd: int, mode: int) -> tuple[int, bool]:
    """Open a new file in the folder; return its descriptor, and True if it already has the name `temporary`."""
    unnamed_flag = getattr(os, "O_TMPFILE", 0)
    if unnamed_flag and os.path.isdir("/proc/self/fd"):  # noqa: PTH112 - the file gets its name through this folder
        try:
            return os.open(".", unnamed_flag | os.O_WRONLY | os.O_CLOEXEC, mode, dir_fd=folder_fd), False
        except OSError as error:
            if error.errno not in _UNNAMED_UNSUPPORTED:
                raise
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(temporary, flags, mode, dir_fd=folder_fd), True


def _link_open_file(fd: int, name: str, folder_fd: int) -> None:
    os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=folder_fd, follow_symlinks=True)


def _link_new(fd: int, temporary: str, name: str, folder_fd: int, check: Callable[[], None]) -> None:
    """Give a new file its name in the folder; raise `FileExistsError` if the name was taken in the meantime."""
    if not temporary:
        _link_open_file(fd, name, folder_fd)
        return
    try:
        os.link(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links. On these, the check and the rename are separate operations.
        check()
        os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
        return
    os.unlink(temporary, dir_fd=folder_fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _copy_metadata(fd: int, state: FileState) -> None:
    """Copy owner, access lists and mode of the old file, as far as permitted."""
    # The set-user-id and set-group-id bits are not copied: they were meant for the old content.
    old = state.status
    try:
        os.fchown(fd, old.st_uid, old.st_gid)
    except PermissionError:
        with suppress(PermissionError):
            os.fchown(fd, -1, old.st_gid)
    if sys.platform == "linux":
        if _ACL not in dict(state.attributes):
            with suppress(OSError):  # a new file may have got its folder's default access list
                os.removexattr(fd, _ACL)
        for name, value in state.attributes:
            with suppress(OSError):
                os.setxattr(fd, name, value)
    os.fchmod(fd, stat.S_IMODE(old.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))
