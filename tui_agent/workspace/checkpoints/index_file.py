"""Reader and writer of git's index file (versions 2 to 4); gitformat-index(5) describes the format.

The reader raises `UnreadableIndex` for a split, sparse or damaged index, and for an index with SHA-256 ids.
"""

import hashlib
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.checkpoints.cancellation import iterate_cancellable

STAT = struct.Struct(">10I")
HEAD = struct.Struct(">4sII")
EXTENDED, VALID, STAGE = 0x4000, 0x8000, 0x3000
SKIP_OR_INTENT = 0x4000 | 0x2000
WORD_MASK = 0xFFFFFFFF


class UnreadableIndex(Exception):
    """Raised if a git index cannot be used. The caller then reads the workspace's files instead."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A file in a git index: its path, its stat data (ten 32-bit words), and the id of its content, all as bytes."""

    path: bytes
    stat: bytes
    oid: bytes
    is_trusted: bool = True
    """False if an index flag says that the entry can differ from the file on disk."""

    @property
    def mode(self) -> int:
        return int.from_bytes(self.stat[24:28], "big")

    @property
    def size(self) -> int:
        """The file's size when the index was updated."""
        return int.from_bytes(self.stat[36:40], "big")


def make_entry(path: str, status: os.stat_result, git_mode: int, oid: str) -> IndexEntry:
    """Return the index entry of a newly read file with the git id `oid`."""
    words = (
        int(status.st_ctime),
        status.st_ctime_ns % 1_000_000_000,
        int(status.st_mtime),
        status.st_mtime_ns % 1_000_000_000,
        status.st_dev,
        status.st_ino,
        git_mode,
        status.st_uid,
        status.st_gid,
        status.st_size,
    )
    return IndexEntry(os.fsencode(path), STAT.pack(*(word & WORD_MASK for word in words)), bytes.fromhex(oid))


def read_index(path: Path) -> list[IndexEntry]:
    """Return all entries of the git index at `path`; raise `UnreadableIndex` or `OSError` if it cannot be read."""
    content = path.read_bytes()
    if len(content) < 32 or content[:4] != b"DIRC":
        raise UnreadableIndex("it is not an index")
    # With `index.skipHash`, git writes zeros in place of the checksum.
    if content[-20:] not in (hashlib.sha1(content[:-20], usedforsecurity=False).digest(), bytes(20)):
        raise UnreadableIndex("its checksum is wrong")
    _, version, count = HEAD.unpack_from(content)
    if version not in (2, 3, 4):
        raise UnreadableIndex(f"its version {version} is not supported")
    try:
        entries, offset = _parse_entries(content, version, count)
    except (struct.error, ValueError, IndexError) as fault:
        raise UnreadableIndex("it is cut off") from fault
    while offset < len(content) - 20:
        name, length = struct.unpack_from(">4sI", content, offset)
        # An extension whose name begins with a capital letter is optional; the index cannot be read without the others.
        if not b"A" <= name[:1] <= b"Z":
            raise UnreadableIndex(f"it needs the extension {name!r}")
        offset += 8 + length
    return entries


def _parse_entries(content: bytes, version: int, count: int) -> tuple[list[IndexEntry], int]:
    entries = []
    offset, path = HEAD.size, b""
    for _ in iterate_cancellable(range(count)):
        stat, oid = content[offset : offset + 40], content[offset + 40 : offset + 60]
        flags = int.from_bytes(content[offset + 60 : offset + 62], "big")
        name_start, extra_flags = offset + 62, 0
        if flags & EXTENDED:
            extra_flags = int.from_bytes(content[name_start : name_start + 2], "big")
            name_start += 2
        if version == 4:
            strip, name_start = _decode_number(content, name_start)
            end = content.index(b"\0", name_start)
            path = path[: len(path) - strip] + content[name_start:end]
            next_offset = end + 1
        else:
            end = content.index(b"\0", name_start)
            path = content[name_start:end]
            next_offset = offset + ((end - offset) // 8 + 1) * 8
        trusted = not (flags & (VALID | STAGE) or extra_flags & SKIP_OR_INTENT)
        entries.append(IndexEntry(path, stat, oid, trusted))
        offset = next_offset
    return entries, offset


def _decode_number(content: bytes, offset: int) -> tuple[int, int]:
    """Decode the variable-width number at `offset`, and return (number, next offset)."""
    byte = content[offset]
    value = byte & 0x7F
    while byte & 0x80:
        offset += 1
        byte = content[offset]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, offset + 1


def _encode_number(value: int) -> bytes:
    encoded = [value & 0x7F]
    while value := value >> 7:
        value -= 1
        encoded.append(0x80 | (value & 0x7F))
    return bytes(reversed(encoded))


def write_index(path: Path, entries: Iterable[IndexEntry], as_of: int) -> None:
    """Write a git index file.

    `as_of`: time in nanoseconds. If a file changed before this time, git compares only its size and times with its
    entry. If it changed later, git also compares the content.
    """
    ordered = sorted(entries, key=lambda entry: entry.path)
    body = [HEAD.pack(b"DIRC", 4, len(ordered))]
    previous_path = b""
    for entry in iterate_cancellable(ordered):
        shared = len(os.path.commonprefix((previous_path, entry.path)))  # noqa: RUF071 - byte by byte, as git does
        flags = min(len(entry.path), 0xFFF).to_bytes(2, "big")
        body += (
            entry.stat,
            entry.oid,
            flags,
            _encode_number(len(previous_path) - shared),
            entry.path[shared:],
            b"\0",
        )
        previous_path = entry.path
    content = b"".join(body)
    path.write_bytes(content + hashlib.sha1(content, usedforsecurity=False).digest())
    os.utime(path, ns=(as_of, as_of))
