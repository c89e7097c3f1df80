"""A list that compresses its older items, so that very long logs need little memory.

Invariant: reading an index returns an item equal to the last item stored at that index.
"""

import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final, Self, TypeVar, overload

T = TypeVar("T")

UNPACKED_ITEMS: Final = 8_192
_CHUNKS_KEPT: Final = 32
"""Number of chunks that the `keep` newest items are divided into. The items of a chunk are packed together."""
_MAX_OPEN_CHUNKS: Final = 8
"""Maximum number of chunks that stay unpacked after they were read."""


class PackedList(Sequence[T]):
    """A sequence of items that can be appended, read, and replaced by index. A subclass defines how items are packed."""

    def __init__(self, keep: int = UNPACKED_ITEMS) -> None:
        self._keep = keep
        self._chunk_size = max(1, keep // _CHUNKS_KEPT)
        self._chunks: list[bytes] = []
        self._unpacked: list[T] = []
        self._replaced: dict[int, T] = {}
        """Maps the index of a replaced packed item to the new item."""
        self._open_chunks: dict[int, Sequence[T]] = {}

    @staticmethod
    @abstractmethod
    def dump(items: Sequence[T]) -> bytes:
        """Return items as bytes that `load` can read."""

    @staticmethod
    @abstractmethod
    def load(data: bytes) -> Sequence[T]:
        """Return the items that `dump` wrote to `data`."""

    @property
    def packed_count(self) -> int:
        """The number of packed items, which are at the beginning of the list."""
        return len(self._chunks) * self._chunk_size

    @property
    def pack_threshold(self) -> int:
        """The number of unpacked items at which packing starts."""
        return self._keep + self._chunk_size

    @property
    def needs_packing(self) -> bool:
        """True if the oldest unpacked items can be packed."""
        return len(self._unpacked) >= self.pack_threshold

    @property
    def oldest_chunk(self) -> Sequence[T]:
        """The items that `pack` packs next."""
        return self._unpacked[: self._chunk_size]

    def pack(self) -> None:
        """Pack the oldest items. Call this only if `needs_packing` is True."""
        self._chunks.append(zlib.compress(self.dump(self.oldest_chunk), 1))
        del self._unpacked[: self._chunk_size]

    def view(self) -> Sequence[T]:
        """Return the current items. Later changes of the list do not affect the result."""
        return self.copy() if self._chunks else tuple(self._unpacked)

    def copy(self) -> Self:
        """Return an independent copy."""
        duplicate = self.__class__(self._keep)
        duplicate._chunks, duplicate._unpacked = self._chunks.copy(), self._unpacked.copy()
        duplicate._replaced, duplicate._open_chunks = self._replaced.copy(), self._open_chunks
        return duplicate

    def __len__(self) -> int:
        return self.packed_count + len(self._unpacked)

    def append(self, item: T) -> None:
        """Append an item."""
        self._unpacked.append(item)

    def replace(self, index: int, item: T) -> None:
        """Replace the item at `index`."""
        position = index - self.packed_count
        if position >= 0:
            self._unpacked[position] = item
        else:  # Packing the whole chunk again for one late change would take too long.
            self._replaced[index] = item

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return tuple(self[position] for position in range(*index.indices(len(self))))
        if index < 0:
            index += len(self)
        offset = index - self.packed_count
        if offset >= 0:
            return self._unpacked[offset]
        if index < 0:
            raise IndexError(index)
        if index in self._replaced:
            return self._replaced[index]
        return self._read_chunk(index // self._chunk_size)[index % self._chunk_size]

    def __iter__(self) -> Iterator[T]:
        for index in range(self.packed_count):
            yield self[index]
        yield from self._unpacked

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PackedList | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(
            mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # mutable

    def _read_chunk(self, number: int) -> Sequence[T]:
        items = self._open_chunks.pop(number, None)
        if items is None:
            items = self.load(zlib.decompress(self._chunks[number]))
            # Each read removes and re-inserts its chunk, so the first key is the least recently used chunk.
            while len(self._open_chunks) >= _MAX_OPEN_CHUNKS:
                del self._open_chunks[next(iter(self._open_chunks))]
        self._open_chunks[number] = items
        return items
