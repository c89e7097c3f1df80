"""Shortens a text to the part that a simulated user reads: cuts prose, and keeps code blocks."""

from bisect import bisect_right
from collections.abc import Callable

FENCE = "```"
CUT = " …"
ON_SCREEN = "Code to copy or run:"


def split_code(text: str) -> tuple[str, list[str]]:
    """Return the text with a mark in place of each code block, and the list of these code blocks."""
    prose: list[str] = []
    blocks: list[str] = []
    block: list[str] | None = None
    for line in text.splitlines():
        is_fence = line.lstrip().startswith(FENCE)
        if block is None and not is_fence:
            prose.append(line)
            continue
        if block is None:
            block = [line]
            prose.append(f"[CODE BLOCK {len(blocks)}]")
            blocks.append("")
        else:
            block.append(line)
            if is_fence:
                blocks[-1], block = "\n".join(block), None
    if block is not None:
        blocks[-1] = "\n".join(block)
    return "\n".join(prose).strip(), blocks


def shorten_prose(prose: str, max_tokens: int, count_tokens: Callable[[str], int]) -> str:
    """Return the first words within `max_tokens` (at least one), with `…` if words are missing."""
    words = prose.split(" ")
    fitting = bisect_right(
        range(1, len(words) + 1), max_tokens, key=lambda number: count_tokens(" ".join(words[:number]))
    )
    return prose if fitting == len(words) else " ".join(words[: max(1, fitting)]) + CUT


def join_code(prose: str, blocks: list[str]) -> str:
    """Append the code blocks to the prose. Each block gets a heading such as `[CODE BLOCK 0]:`.

    The prose contains the same mark at the block's original place.
    """
    marked = [f"[CODE BLOCK {index}]:\n{block}" for index, block in enumerate(blocks)]
    return "\n\n".join([prose, ON_SCREEN, *marked]) if blocks else prose
