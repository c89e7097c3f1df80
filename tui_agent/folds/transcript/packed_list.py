"""A list whose old items are kept packed, so that a fold of a very long log stays small.

Invariant: what is read at an index is equal to what was put there last, packed or not. The newest `keep` items are
never packed, so a list that is not longer is a plain one.
"""

import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final, Self, TypeVar, overload

T = TypeVar("T")

KEEP: Final = 8_192
_CHUNKS: Final = 32
"""Chunks that `keep` items would make."""
_OPEN: Final = 8
"""Chunks that stay unpacked for the next look."""


class Shelf(Sequence[T]):
    """Append, read and replace by index. What packs its items is the subclass."""

    def __init__(self, keep: int = KEEP) -> None:
        self._keep = keep
        self._size = max(1, keep // _CHUNKS)
        self._chunks: list[bytes] = []
        self._near: list[T] = []
        self._replaced: dict[int, T] = {}
        """Packed items that were put anew since."""
        self._open: dict[int, Sequence[T]] = {}

    @staticmethod
    @abstractmethod
    def dump(items: Sequence[T]) -> bytes:
        """Items as bytes."""

    @staticmethod
    @abstractmethod
    def load(data: bytes) -> Sequence[T]:
        """The inverse of `dump`."""

    @property
    def packed(self) -> int:
        """How many of the first items are packed."""
        return len(self._chunks) * self._size

    @property
    def room(self) -> int:
        """How many items that are not packed fit in."""
        return self._keep + self._size

    @property
    def full(self) -> bool:
        """Whether the oldest chunk that is not packed may be."""
        return len(self._near) >= self.room

    @property
    def oldest(self) -> Sequence[T]:
        """What `pack` would pack."""
        return self._near[: self._size]

    def pack(self) -> None:
        """Pack the oldest items; to be called when `full`."""
        self._chunks.append(zlib.compress(self.dump(self.oldest), 1))
        del self._near[: self._size]

    def view(self) -> Sequence[T]:
        """The items as they are now: what comes later does not change it. A tuple where nothing is packed."""
        return self.copy() if self._chunks else tuple(self._near)

    def copy(self) -> Self:
        """The same items, to go on alone."""
        made = self.__class__(self._keep)
        made._chunks, made._near = self._chunks.copy(), self._near.copy()
        made._replaced, made._open = self._replaced.copy(), self._open
        return made

    def __len__(self) -> int:
        return self.packed + len(self._near)

    def append(self, item: T) -> None:
        """Add one at the end."""
        self._near.append(item)

    def put(self, index: int, item: T) -> None:
        """Replace one; `index` is not negative."""
        near = index - self.packed
        if near >= 0:
            self._near[near] = item
        else:
            self._replaced[index] = item

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return tuple(self[one] for one in range(*index.indices(len(self))))
        if index < 0:
            index += len(self)
        near = index - self.packed
        if near >= 0:
            return self._near[near]
        if index < 0:
            raise IndexError(index)
        if index in self._replaced:
            return self._replaced[index]
        return self._chunk(index // self._size)[index % self._size]

    def __iter__(self) -> Iterator[T]:
        for index in range(self.packed):
            yield self[index]
        yield from self._near

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shelf | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # it grows

    def _chunk(self, number: int) -> Sequence[T]:
        found = self._open.pop(number, None)
        if found is None:
            found = self.load(zlib.decompress(self._chunks[number]))
            while len(self._open) >= _OPEN:
                del self._open[next(iter(self._open))]
        self._open[number] = found
        return found
