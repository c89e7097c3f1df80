"""Program that runs inside the sandbox, restricts itself with Landlock and executes the command.

Usage: `landlock.py =DEVICE:INODE:PATH… !DEVICE:INODE:DEVICE:INODE:PATH… FOLDER… -- PROGRAM ARGUMENT…`.

- `=`: PATH must still be the file with this device and inode.
- `!`: PATH must still be the file with the second device and inode, in the folder with the first device and inode.
  It must be mounted read-only.

If one of these checks fails, nothing is run.

The command can write only below each FOLDER. It cannot send signals to processes outside the sandbox, or connect to
their abstract sockets. Without Landlock in the kernel, the program only executes the command.

The program uses only the standard library.
"""

import ctypes
import os
import struct
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System call numbers. They are equal on all architectures except Alpha and MIPS."""
_VERSION_FLAG, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
MAKE_OR_REMOVE = 0x1FF0
REFER, TRUNCATE, IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
SCOPES = 3
"""Landlock scopes: the command cannot connect to abstract sockets, or send signals, outside the sandbox."""
_SIGPIPE, _SIGXFSZ = 13, 25
"""Signals that Python ignores."""
# A program that Python executes would ignore them too.


def supported_rights(abi: int) -> int:
    """Return all file rights that a kernel with the Landlock ABI `abi` supports, as bits."""
    known = READ | WRITE_FILE | MAKE_OR_REMOVE
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEVICE)):
        known |= right if abi >= since else 0
    return known


def encode_ruleset(abi: int) -> bytes:
    """Return the C structure `landlock_ruleset_attr` in the size that the Landlock ABI `abi` expects."""
    fields = (supported_rights(abi), 0, SCOPES)[: 3 if abi >= 6 else 2 if abi >= 4 else 1]
    return struct.pack(f"={len(fields)}Q", *fields)


class Kernel:
    """The Landlock system calls."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)

    def abi(self) -> int:
        """Return the kernel's Landlock ABI; 0 if it has none."""
        return max(self._call(CREATE_RULESET, None, 0, _VERSION_FLAG), 0)

    def restrict(self, writable: list[str]) -> int:
        """Restrict this process and its programs. Return the Landlock ABI, or 0 if not restricted."""
        abi = self.abi()
        if not abi:
            return 0
        attributes = encode_ruleset(abi)
        rules = self._call(CREATE_RULESET, attributes, len(attributes), 0)
        if rules < 0:
            return 0
        self._allow(rules, "/", READ & supported_rights(abi))
        for folder in writable:
            self._allow(rules, folder, supported_rights(abi))
        self._libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        restricted = self._call(RESTRICT_SELF, rules, 0)
        os.close(rules)
        return abi if restricted == 0 else 0

    def restore_signals(self) -> None:
        """Restore the default action of the signals that this interpreter ignores."""
        for signal_number in (_SIGPIPE, _SIGXFSZ):
            self._libc.signal(signal_number, None)

    def _allow(self, rules: int, path: str, allowed: int) -> None:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # a missing path needs no rule
            return
        if not os.path.isdir(path):  # noqa: PTH112 - startup must be fast
            allowed &= ON_FILES
        self._call(ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", allowed, descriptor), 0)
        os.close(descriptor)

    def _call(self, number: int, *arguments: object) -> int:
        values = [
            ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments
        ]
        return int(self._libc.syscall(ctypes.c_long(number), *values))


def main(words: list[str]) -> None:
    """Verify the paths in `words`, restrict this process, then execute the command."""
    end = words.index("--")
    for word in words[:end]:
        if word.startswith("="):
            _check_identity(*word[1:].split(":", 2))
        elif word.startswith("!"):
            _check_guard(*word[1:].split(":", 4))
    kernel = Kernel()
    kernel.restrict([word for word in words[:end] if word.startswith("/")])
    kernel.restore_signals()
    argv = words[end + 1 :]
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        raise SystemExit(126) from error


def _check_guard(device: str, inode: str, own_device: str, own_inode: str, path: str) -> None:
    """Exit if `path` is not the expected file in the expected folder, or is not mounted read-only."""
    folder, _, name = path.rpartition("/")
    try:
        folder_fd = os.open(folder or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        guard_fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder_fd)
        parent, guard = os.fstat(folder_fd), os.fstat(guard_fd)
        is_same = (parent.st_dev, parent.st_ino) == (int(device), int(inode))
        is_same = is_same and (guard.st_dev, guard.st_ino) == (int(own_device), int(own_inode))
        is_same = is_same and bool(os.fstatvfs(guard_fd).f_flag & os.ST_RDONLY)
        os.close(guard_fd)
        os.close(folder_fd)
    except OSError:
        is_same = False
    if not is_same:
        sys.stderr.write(f"{path} was replaced while the sandbox was created. Nothing was run.\n")
        raise SystemExit(126)


def _check_identity(device: str, inode: str, path: str) -> None:
    try:
        current = os.stat(path)  # noqa: PTH116 - startup must be fast
        is_same = (current.st_dev, current.st_ino) == (int(device), int(inode))
    except OSError:
        is_same = False
    if not is_same:
        name = "The working folder" if path == "." else path
        sys.stderr.write(f"{name} was replaced after the command was allowed. Nothing was run.\n")
        raise SystemExit(126)


if __name__ == "__main__":
    main(sys.argv[1:])
