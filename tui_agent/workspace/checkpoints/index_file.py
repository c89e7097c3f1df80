"""Git's index file (versions 2 to 4), read from a user's repository and written for the store.

Only what is certain is taken over: an index that is split, sparse, of another hash or damaged is `Unreadable`.
Source of the format: gitformat-index(5).
"""

import hashlib
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tui_agent.workspace.checkpoints.cancellation import while_wanted

STAT = struct.Struct(">10I")
HEAD = struct.Struct(">4sII")
EXTENDED, VALID, STAGE = 0x4000, 0x8000, 0x3000
SKIP_OR_INTENT = 0x4000 | 0x2000
WORD = 0xFFFFFFFF
SIZE_AT = 9


class Unreadable(Exception):
    """This index cannot be taken over; the files must be read instead."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One file: its path as bytes, the ten words of its stat data, and the name of its content."""

    path: bytes
    stat: bytes
    oid: bytes
    trusted: bool = True
    """False where a flag says that the entry does not tell what is on disk."""

    @property
    def mode(self) -> int:
        """Git's mode."""
        return int.from_bytes(self.stat[24:28], "big")

    @property
    def size(self) -> int:
        """The file's size when it was last looked at."""
        return int.from_bytes(self.stat[36:40], "big")


def entry_of(path: str, found: os.stat_result, git_mode: int, oid: str) -> IndexEntry:
    """The entry of a file that was just read."""
    words = (
        int(found.st_ctime),
        found.st_ctime_ns % 1_000_000_000,
        int(found.st_mtime),
        found.st_mtime_ns % 1_000_000_000,
        found.st_dev,
        found.st_ino,
        git_mode,
        found.st_uid,
        found.st_gid,
        found.st_size,
    )
    return IndexEntry(os.fsencode(path), STAT.pack(*(word & WORD for word in words)), bytes.fromhex(oid))


def read_index(path: Path) -> list[IndexEntry]:
    """Every entry. Raises `Unreadable`, or OSError."""
    content = path.read_bytes()
    if len(content) < 32 or content[:4] != b"DIRC":
        raise Unreadable("it is no index")
    if content[-20:] not in (hashlib.sha1(content[:-20], usedforsecurity=False).digest(), bytes(20)):
        raise Unreadable("its checksum is wrong")
    _, version, count = HEAD.unpack_from(content)
    if version not in (2, 3, 4):
        raise Unreadable(f"its version is {version}")
    try:
        entries, at = _entries(content, version, count)
    except (struct.error, ValueError, IndexError) as fault:
        raise Unreadable("it is cut off") from fault
    while at < len(content) - 20:
        name, length = struct.unpack_from(">4sI", content, at)
        if not b"A" <= name[:1] <= b"Z":
            raise Unreadable(f"it needs the extension {name!r}")
        at += 8 + length
    return entries


def _entries(content: bytes, version: int, count: int) -> tuple[list[IndexEntry], int]:
    entries = []
    at, path = HEAD.size, b""
    for _ in while_wanted(range(count)):
        stat, oid = content[at : at + 40], content[at + 40 : at + 60]
        flags = int.from_bytes(content[at + 60 : at + 62], "big")
        name, more = at + 62, 0
        if flags & EXTENDED:
            more = int.from_bytes(content[name : name + 2], "big")
            name += 2
        if version == 4:
            strip, name = _number(content, name)
            end = content.index(b"\0", name)
            path = path[: len(path) - strip] + content[name:end]
            following = end + 1
        else:
            end = content.index(b"\0", name)
            path = content[name:end]
            following = at + ((end - at) // 8 + 1) * 8
        trusted = not (flags & (VALID | STAGE) or more & SKIP_OR_INTENT)
        entries.append(IndexEntry(path, stat, oid, trusted))
        at = following
    return entries, at


def _number(content: bytes, at: int) -> tuple[int, int]:
    """A number of variable width, as a pack's offsets are written."""
    byte = content[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = content[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


def _coded(value: int) -> bytes:
    coded = [value & 0x7F]
    while value := value >> 7:
        value -= 1
        coded.append(0x80 | (value & 0x7F))
    return bytes(reversed(coded))


def _same_start(left: bytes, right: bytes) -> int:
    for at, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return at
    return min(len(left), len(right))


def write_index(path: Path, entries: Iterable[IndexEntry], as_of: int) -> None:
    """Write an index that trusts its stat data only for files older than `as_of` (nanoseconds)."""
    ordered = sorted(entries, key=lambda entry: entry.path)
    body = [HEAD.pack(b"DIRC", 4, len(ordered))]
    before = b""
    for entry in while_wanted(ordered):
        same = _same_start(before, entry.path)
        flags = min(len(entry.path), 0xFFF).to_bytes(2, "big")
        body += (entry.stat, entry.oid, flags, _coded(len(before) - same), entry.path[same:], b"\0")
        before = entry.path
    content = b"".join(body)
    path.write_bytes(content + hashlib.sha1(content, usedforsecurity=False).digest())
    os.utime(path, ns=(as_of, as_of))
