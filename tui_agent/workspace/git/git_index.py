"""Reader of the submodules in a git index.

Invariant: only index versions 2 and 3 with SHA-1 are read.
"""

import struct

from tui_agent.workspace.git.stat_cache import UnsafeRepositoryError, read_small

MAX_BYTES = 50_000_000
_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">24xI32xH")
"""Struct of an index entry. It unpacks the mode and flags, and skips times, numbers, size and digest."""
_PAIR = struct.Struct(">II")
_DIGEST_BYTES = 20
_LINK_MODE = 0o160000
_FILE_MODES = frozenset({0o100644, 0o100755, 0o120000})
_EXTENDED, _NAME_BYTES = 0x4000, 0xFFF
_EXTENSIONS = frozenset({b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT"})
"""Index extensions that are accepted, because they add no entries to the index."""


def read_gitlinks(path: str) -> tuple[bytes, ...]:
    """Return the paths of the submodules in the git index at `path`.

    Raise `OSError` if it cannot be read, and `UnsafeRepositoryError` for an unknown or damaged index.
    """
    data = read_small(path, MAX_BYTES)
    try:
        return _parse(data)
    except (struct.error, ValueError) as error:
        raise UnsafeRepositoryError(f"{path} is damaged") from error


def _parse(data: bytes) -> tuple[bytes, ...]:
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version not in (2, 3):
        raise UnsafeRepositoryError("the index has an unknown version")
    links: list[bytes] = []
    positions: list[int] = []
    unpack, position = _ENTRY.unpack_from, _HEADER.size
    for _ in range(count):
        positions.append(position)
        mode, flags = unpack(data, position)
        begin = position + (64 if flags & _EXTENDED else 62)
        length = flags & _NAME_BYTES
        if length == _NAME_BYTES:
            length = data.index(b"\0", begin) - begin
        if mode == _LINK_MODE:
            links.append(data[begin : begin + length])
        elif mode not in _FILE_MODES:
            raise UnsafeRepositoryError("an index entry has an unknown kind")
        position += (begin - position + length + 8) & ~7
    _check_extensions(data, position, positions)
    return tuple(links)


def _check_extensions(data: bytes, position: int, positions: list[int]) -> None:
    """Raise `UnsafeRepositoryError` if an extension adds entries, or makes git read entries from another file."""
    begin, end = position, len(data) - _DIGEST_BYTES
    while position < end:
        name, (size,) = data[position : position + 4], struct.unpack_from(">I", data, position + 4)
        content = data[position + 8 : position + 8 + size]
        if name not in _EXTENSIONS or len(content) != size:
            raise UnsafeRepositoryError("the index has an unknown extension")
        if name == b"EOIE" and struct.unpack_from(">I", content)[0] != begin:
            raise UnsafeRepositoryError("the EOIE extension of the index gives a wrong end of the entries")
        if name == b"IEOT":
            _check_blocks(content, positions)
        position += 8 + size
    if position != end:
        raise UnsafeRepositoryError("the index does not end after its last extension")


def _check_blocks(content: bytes, positions: list[int]) -> None:
    """Raise `UnsafeRepositoryError` if the offset table for multi-threaded reads (extension IEOT) does not match the
    entries."""
    number = 0
    for offset, count in _PAIR.iter_unpack(content[4:]):
        if number >= len(positions) or positions[number] != offset:
            raise UnsafeRepositoryError("the IEOT extension of the index does not match its entries")
        number += count
    if number != len(positions):
        raise UnsafeRepositoryError("the IEOT extension of the index does not match its entries")
