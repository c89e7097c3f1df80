"""Division of a summary's characters among its blocks by rank.

Invariant: a required block is cut only if the required blocks do not all fit.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from tui_agent.fast_dataclass import dataclass

_LESS: Final = 0.25


@dataclass(frozen=True, slots=True)
class FittedText:
    """A block's text, cut to the available room.

    `dropped`: number of left-out pieces, such as lines or messages.
    """

    text: str
    cut: bool = False
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A long text, of which a summary has only `shown_chars` characters. `user_label`: name in messages to the user."""

    full_text: str
    shown_chars: int
    user_label: str


@dataclass(frozen=True, slots=True)
class SummaryBlock:
    """A block of a summary, such as the task or the changed files. Sizes are in characters.

    `needs`: size of the shortest complete form.
    `share`: guaranteed fraction of the summary.
    `user_label`: name of a required block in messages to the user; empty for an optional block.
    `is_users`: True if the block contains the user's words.
    `excerpts`: texts of which `full_text` has only an excerpt, even if there is room.
    """

    title: str
    full_text: str
    fit: Callable[[int], FittedText]
    needs: int
    share: float
    user_label: str = ""
    is_users: bool = False
    excerpts: Sequence[Excerpt] = ()

    @property
    def is_required(self) -> bool:
        """True if the block must not lose content."""
        return bool(self.user_label)


def fit_blocks(blocks: Sequence[SummaryBlock], room: int, preferred: int) -> list[FittedText]:
    """Return the fitted text of each block. Lengths are in characters.

    `blocks`: in order of rank; the last block is the first to be cut.
    `room`: maximum total length.
    `preferred`: total length to aim at.
    """
    minimums = _guaranteed_sizes(blocks, room)
    least_after = _sums_after(minimums)
    needs_after = _sums_after([block.needs for block in blocks])
    texts, used = list[FittedText](), 0
    for index, block in enumerate(blocks):
        hard_limit = room - used - least_after[index]
        soft_limit = max(block.needs, preferred - used - needs_after[index])
        limit = max(0, minimums[index], min(hard_limit, soft_limit))
        short = FittedText(block.full_text)
        if len(block.full_text) > limit:
            cut = block.fit(limit)
            # With the note about what is left out, a cut text can be longer than the full text.
            short = cut if len(cut.text) < len(block.full_text) else short
        texts.append(short)
        used += len(short.text)
    return texts


def _guaranteed_sizes(blocks: Sequence[SummaryBlock], room: int) -> list[int]:
    """Return each block's guaranteed size in a summary of `room` characters."""
    minimums = [min(block.needs, int(block.share * room)) for block in blocks]
    user_chars = sum(block.needs for block in blocks if block.is_users)
    others = sum(size for size, block in zip(minimums, blocks, strict=True) if not block.is_users)
    if user_chars + others <= room or not others:
        return minimums
    part = max(_LESS, (room - user_chars) / others)
    return [
        size if block.is_users else int(size * part) for size, block in zip(minimums, blocks, strict=True)
    ]


def _sums_after(sizes: Sequence[int]) -> list[int]:
    total = sum(sizes)
    return [total - so_far for so_far in accumulate(sizes)]
