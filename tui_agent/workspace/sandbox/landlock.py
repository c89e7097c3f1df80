"""The further line: run by its path inside the sandbox, it forbids itself to write elsewhere, and becomes the command.

`landlock.py =DEVICE:INODE:PATH… !DEVICE:INODE:DEVICE:INODE:PATH… FOLDER… -- PROGRAM ARGUMENT…`: where a path is not that file
any more, or, of the second kind, is not it read-only in that folder, nothing is run;
only below the folders can anything be written from here on, and neither signals nor abstract sockets reach past the sandbox. It asks the kernel what it knows of Landlock; where that is nothing,
it only becomes the command. Loads nothing but the standard library.
"""

import ctypes
import os
import struct
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""The same on every architecture."""
_VERSION_FLAG, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
MAKE_OR_REMOVE = 0x1FF0
REFER, TRUNCATE, IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
SCOPES = 3
"""Abstract sockets and signals."""
_SIGPIPE, _SIGXFSZ = 13, 25
"""What Python itself ignores. What a process ignores stays so in what it becomes."""


def rights(abi: int) -> int:
    """All rights on files that a kernel with this ABI can watch over."""
    known = READ | WRITE_FILE | MAKE_OR_REMOVE
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEVICE)):
        known |= right if abi >= since else 0
    return known


def ruleset(abi: int) -> bytes:
    """`struct landlock_ruleset_attr` as long as this ABI knows it."""
    if abi >= 6:
        return struct.pack("=QQQ", rights(abi), 0, SCOPES)
    return struct.pack("=QQ", rights(abi), 0) if abi >= 4 else struct.pack("=Q", rights(abi))


class Kernel:
    """The calls, as functions."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)

    def abi(self) -> int:
        """The kernel's ABI of Landlock; 0 where it has none."""
        return max(self._call(CREATE_RULESET, None, 0, _VERSION_FLAG), 0)

    def restrict(self, writable: list[str]) -> int:
        """Restrict this process and what it becomes; the ABI that was used, 0 where nothing is in force."""
        abi = self.abi()
        if not abi:
            return 0
        attributes = ruleset(abi)
        rules = self._call(CREATE_RULESET, attributes, len(attributes), 0)
        if rules < 0:
            return 0
        self._allow(rules, "/", READ & rights(abi))
        for folder in writable:
            self._allow(rules, folder, rights(abi))
        self._libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        restricted = self._call(RESTRICT_SELF, rules, 0)
        os.close(rules)
        return abi if restricted == 0 else 0

    def heed_signals(self) -> None:
        """Let signals that this interpreter ignores end what it becomes, as they end any other program."""
        for each in (_SIGPIPE, _SIGXFSZ):
            self._libc.signal(each, None)

    def _allow(self, rules: int, path: str, allowed: int) -> None:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # what is not there needs no rule
            return
        if not os.path.isdir(path):  # noqa: PTH112 - a start that must be quick
            allowed &= ON_FILES
        self._call(ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", allowed, place), 0)
        os.close(place)

    def _call(self, number: int, *arguments: object) -> int:
        plain = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
        return int(self._libc.syscall(ctypes.c_long(number), *plain))


def main(words: list[str]) -> None:
    """Restrict, then become the command."""
    end = words.index("--")
    for word in words[:end]:
        if word.startswith("="):
            _must_be_same(*word[1:].split(":", 2))
        elif word.startswith("!"):
            _must_guard(*word[1:].split(":", 4))
    kernel = Kernel()
    kernel.restrict([word for word in words[:end] if word.startswith("/")])
    kernel.heed_signals()
    argv = words[end + 1 :]
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        raise SystemExit(126) from error


def _must_guard(device: str, inode: str, own_device: str, own_inode: str, path: str) -> None:
    """What guards a name must lie there, and not where a link led while it was laid, nor be what one led to."""
    folder, _, name = path.rpartition("/")
    try:
        at = os.open(folder or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        place = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        above, own = os.fstat(at), os.fstat(place)
        same = (above.st_dev, above.st_ino) == (int(device), int(inode))
        same = same and (own.st_dev, own.st_ino) == (int(own_device), int(own_inode))
        same = same and bool(os.fstatvfs(place).f_flag & os.ST_RDONLY)
        os.close(place)
        os.close(at)
    except OSError:
        same = False
    if not same:
        sys.stderr.write(f"{path} was replaced while the sandbox was made: nothing was run.\n")
        raise SystemExit(126)


def _must_be_same(device: str, inode: str, path: str) -> None:
    try:
        now = os.stat(path)  # noqa: PTH116 - a start that must be quick
        same = (now.st_dev, now.st_ino) == (int(device), int(inode))
    except OSError:
        same = False
    if not same:
        what = "The working folder" if path == "." else path
        sys.stderr.write(f"{what} was replaced since the command was allowed: nothing was run.\n")
        raise SystemExit(126)


if __name__ == "__main__":
    main(sys.argv[1:])
