"""A folder opened by its names, from the root of the file system down, with no link anywhere on the way.

Invariant: what is returned is the folder that these names lead to, or nothing: a link that stands in for one of them,
also one that was put there a moment ago, is refused by the kernel. There are two ways, and they mean the same:
`openat2` where the kernel has it, one call for the whole way, and elsewhere one folder after the other.
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
"""Gives a descriptor that can be read from and synced; raises `OSError`."""

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PASSING = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""For folders on the way: they need only be passed through."""

_SYS_OPENAT2 = 437
"""The same number on every machine that is named below."""
_MACHINES = frozenset({"x86_64", "aarch64", "riscv64", "ppc64le", "s390x"})
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_HOW = struct.pack("=QQQ", FOLDER_FLAGS, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
_PIECE = 3500
"""Bytes of a path that are given to the kernel at once; it takes up to 4,095."""
_RETRIES = 5


def one_by_one(names: Sequence[str]) -> int:
    """Each folder opened from the one above it, its own name not followed."""
    return _down(names, FOLDER_FLAGS)


def entered(names: Sequence[str]) -> int:
    """The same, to start programs in, or to open what is below: also a folder that may not be listed."""
    return _down(names, _PASSING)


def _down(names: Sequence[str], last: int) -> int:
    at = os.open("/", last if not names else _PASSING)
    for index, name in enumerate(names, 1):
        try:
            below = os.open(name, _PASSING if index < len(names) else last, dir_fd=at)
        except NotADirectoryError as error:
            raise _link_or_not(error, name, at) from error
        finally:
            os.close(at)
        at = below
    return at


def _link_or_not(error: OSError, name: str, at: int) -> OSError:
    """Linux says "not a directory" of a link that is not followed; a link is called one here."""
    try:
        os.readlink(name, dir_fd=at)
    except OSError:
        return error
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def at_once(names: Sequence[str]) -> int:
    """The whole way in one call of the kernel (more of them where the path is longer than it takes)."""
    at = os.open("/", FOLDER_FLAGS)
    for piece in _pieces(names):
        try:
            below = _openat2(at, piece)
        finally:
            os.close(at)
        at = below
    return at


def _pieces(names: Sequence[str]) -> list[bytes]:
    pieces: list[bytes] = []
    for name in map(os.fsencode, names):
        if pieces and len(pieces[-1]) + len(name) < _PIECE:
            pieces[-1] += b"/" + name
        else:
            pieces.append(name)
    return pieces


def _openat2(at: int, path: bytes) -> int:
    for _ in range(_RETRIES):
        fd: int = _syscall()(_SYS_OPENAT2, at, path, _HOW, len(_HOW))
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
def kernel_can() -> bool:
    """Whether this kernel has `openat2`, and nothing (a container's filter) forbids it."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES or sys.maxsize < 2**32:
        return False
    at = os.open("/", FOLDER_FLAGS)
    try:
        os.close(_openat2(at, b"."))
    except OSError:
        return False
    finally:
        os.close(at)
    return True


def fitting() -> OpenFolder:
    """The better of the two ways that works here."""
    return at_once if kernel_can() else one_by_one


def made(names: Sequence[str], existing: int) -> int:
    """The folder as `one_by_one` opens it, with those made that are missing; the first `existing` never are."""
    at = os.open("/", FOLDER_FLAGS)
    for index, name in enumerate(names):
        try:
            below = _opened_or_made(name, at, index >= existing)
        finally:
            os.close(at)
        at = below
    readable = os.open(".", FOLDER_FLAGS, dir_fd=at)
    os.close(at)
    return readable


def _opened_or_made(name: str, at: int, may_make: bool) -> int:
    try:
        return os.open(name, _PASSING, dir_fd=at)
    except NotADirectoryError as error:
        raise _link_or_not(error, name, at) from error
    except FileNotFoundError:
        if not may_make:
            raise
    _make_folder(name, at)
    return os.open(name, _PASSING, dir_fd=at)


def _make_folder(name: str, at: int) -> None:
    try:
        os.mkdir(name, dir_fd=at)
    except FileExistsError:
        return
    above = os.open(".", FOLDER_FLAGS, dir_fd=at)
    try:
        os.fsync(above)
    finally:
        os.close(above)
