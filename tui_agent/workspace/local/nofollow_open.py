"""Opens a folder by the names on its path from the root of the file system. No link is followed.

Invariant: the returned descriptor is the folder with exactly these names, even if a link was created just before.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

OpenFolder: TypeAlias = Callable[[Sequence[str]], int]
"""Function that opens a folder by the names on its path. It returns a descriptor for listing and syncing.

It raises `OSError` if this fails.
"""

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PASS_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags for opening the folders above the requested folder."""

_SYS_OPENAT2 = 437
"""Number of the system call `openat2`. All of `_MACHINES` use this number."""
_MACHINES = frozenset({"x86_64", "aarch64", "riscv64", "ppc64le", "s390x"})
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_OPEN_HOW = struct.pack("=QQQ", FOLDER_FLAGS, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
_MAX_PIECE_BYTES = 3500
"""Maximum bytes of a path passed to the kernel in one call; the kernel's limit is 4,095."""
_RETRIES = 5


def open_folder_by_folder(names: Sequence[str]) -> int:
    """Open a folder by its names, opening each folder relative to its parent and without following links."""
    return _open_each(names, FOLDER_FLAGS)


def open_to_enter(names: Sequence[str]) -> int:
    """Open a folder in order to start programs in it or open its entries, but not to list it."""
    return _open_each(names, _PASS_FLAGS)


def _open_each(names: Sequence[str], last_flags: int) -> int:
    folder_fd = os.open("/", last_flags if not names else _PASS_FLAGS)
    for index, name in enumerate(names, 1):
        try:
            next_fd = os.open(name, _PASS_FLAGS if index < len(names) else last_flags, dir_fd=folder_fd)
        except NotADirectoryError as error:
            raise _name_link_error(error, name, folder_fd) from error
        finally:
            os.close(folder_fd)
        folder_fd = next_fd
    return folder_fd


def _name_link_error(error: OSError, name: str, folder_fd: int) -> OSError:
    """Return an ELOOP error if `name` is a link in the folder, otherwise `error`."""
    # Linux reports a link only as "not a directory".
    try:
        os.readlink(name, dir_fd=folder_fd)
    except OSError:
        return error
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def open_in_one_call(names: Sequence[str]) -> int:
    """Open the folder with the path `names` in one kernel call, or in several for a very long path."""
    folder_fd = os.open("/", FOLDER_FLAGS)
    for piece in _split_names(names):
        try:
            next_fd = _openat2(folder_fd, piece)
        finally:
            os.close(folder_fd)
        folder_fd = next_fd
    return folder_fd


def _split_names(names: Sequence[str]) -> list[bytes]:
    pieces: list[bytes] = []
    for name in map(os.fsencode, names):
        if pieces and len(pieces[-1]) + len(name) < _MAX_PIECE_BYTES:
            pieces[-1] += b"/" + name
        else:
            pieces.append(name)
    return pieces


def _openat2(folder_fd: int, path: bytes) -> int:
    for _ in range(_RETRIES):  # EAGAIN: a folder was renamed while the kernel resolved the path
        fd: int = _syscall()(_SYS_OPENAT2, folder_fd, path, _OPEN_HOW, len(_OPEN_HOW))
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in (errno.EINTR, errno.EAGAIN):
            break
    raise OSError(code, os.strerror(code))


@cache
def _syscall() -> Callable[..., int]:
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    function.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    return function


@cache
def has_openat2() -> bool:
    """Return True if this kernel has `openat2` and no filter (of a container) forbids it."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES or sys.maxsize < 2**32:
        return False
    root_fd = os.open("/", FOLDER_FLAGS)
    try:
        os.close(_openat2(root_fd, b"."))
    except OSError:
        return False
    finally:
        os.close(root_fd)
    return True


def best_open_folder() -> OpenFolder:
    """Return the fastest function for opening a folder that works on this machine."""
    return open_in_one_call if has_openat2() else open_folder_by_folder


def open_or_create(names: Sequence[str], existing: int) -> int:
    """Open a folder like `open_folder_by_folder`, but create missing folders after the first `existing` names."""
    folder_fd = os.open("/", FOLDER_FLAGS)
    for index, name in enumerate(names):
        try:
            next_fd = _open_or_make(name, folder_fd, index >= existing)
        finally:
            os.close(folder_fd)
        folder_fd = next_fd
    readable = os.open(".", FOLDER_FLAGS, dir_fd=folder_fd)
    os.close(folder_fd)
    return readable


def _open_or_make(name: str, folder_fd: int, may_make: bool) -> int:
    try:
        return os.open(name, _PASS_FLAGS, dir_fd=folder_fd)
    except NotADirectoryError as error:
        raise _name_link_error(error, name, folder_fd) from error
    except FileNotFoundError:
        if not may_make:
            raise
    _make_folder(name, folder_fd)
    return os.open(name, _PASS_FLAGS, dir_fd=folder_fd)


def _make_folder(name: str, parent_fd: int) -> None:
    try:
        os.mkdir(name, dir_fd=parent_fd)
    except FileExistsError:
        return
    readable_fd = os.open(".", FOLDER_FLAGS, dir_fd=parent_fd)
    try:
        os.fsync(readable_fd)
    finally:
        os.close(readable_fd)
