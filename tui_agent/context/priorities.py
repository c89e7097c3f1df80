"""Shares the room of a summary out among what it tells, by rank.

Invariant: pure. What must not be lost is cut only where all that has to stand does not fit, and what one block leaves of its
share is the next one's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

_LESS: Final = 0.25


@dataclass(frozen=True, slots=True)
class Short:
    """A block's text, made to fit. `cut`: something of it is not told; `dropped` are the pieces of which nothing is."""

    text: str
    cut: bool = False
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """One thing to tell, in characters. `needs` is what all of it takes in its shortest form, `share` the part of the room
    that it has in any case. One that `lasts` must not be lost: `what` names it for a person. `own`: a person's words."""

    title: str
    whole: str
    fit: Callable[[int], Short]
    needs: int
    share: float
    what: str = ""
    own: bool = False

    @property
    def lasts(self) -> bool:
        """Whether its whole is kept where it is cut."""
        return bool(self.what)


def shared_out(blocks: Sequence[Block], room: int, wished: int) -> list[Short]:
    """The text of each block, the first one the last to give way.

    Together they take `wished` characters, more where what they need does not fit in that, and `room` at most.
    """
    least = _least(blocks, room)
    least_after = _after(least)
    needs_after = _after([block.needs for block in blocks])
    made, used = list[Short](), 0
    for at, block in enumerate(blocks):
        hard = room - used - least_after[at]
        soft = max(block.needs, wished - used - needs_after[at])
        limit = max(0, least[at], min(hard, soft))
        short = Short(block.whole) if len(block.whole) <= limit else block.fit(limit)
        made.append(short)
        used += len(short.text)
    return made


def _least(blocks: Sequence[Block], room: int) -> list[int]:
    """What each has in any case: less of what is no person's own words, where those have no room beside it."""
    least = [min(block.needs, int(block.share * room)) for block in blocks]
    own = sum(block.needs for block in blocks if block.own)
    rest = sum(size for size, block in zip(least, blocks, strict=True) if not block.own)
    if own + rest <= room or not rest:
        return least
    part = max(_LESS, (room - own) / rest)
    return [size if block.own else int(size * part) for size, block in zip(least, blocks, strict=True)]


def _after(sizes: Sequence[int]) -> list[int]:
    """What comes behind each of them."""
    total = sum(sizes)
    return [total - so_far for so_far in accumulate(sizes)]
