"""Draws display blocks as rows of any width outside the transcript, for the panes of plugins.

Invariant: blocks look the same as below a tool call in the transcript, without the vertical line.
"""

from collections.abc import Sequence
from typing import Final

from textual.strip import Strip

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.display import DiffBlock, DisplayBlock
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.transcript.blocks import Body, block_rows
from tui_agent.tui.transcript.rows import Run, strip_of
from tui_agent.tui.transcript.style import TEXT_COLUMN, Look

INDENT: Final = 2
"""Empty cells on the left of each row."""


@dataclass(frozen=True, slots=True)
class _PlainBody(Body):
    def prefix(self) -> list[Run]:
        return [Run(" " * INDENT, self.look.ground)]


def draw_blocks(blocks: Sequence[DisplayBlock], looks: Looks, width: int, ground: Role) -> list[Strip]:
    """Draw blocks as rows of `width` cells on the background `ground`, with an empty row between two blocks."""
    strips: list[Strip] = []
    for number, block in enumerate(blocks):
        # A diff keeps the transcript's gutter for its line numbers.
        extra = 0 if isinstance(block, DiffBlock) else TEXT_COLUMN + 2 - INDENT
        look = Look(looks.palette, looks.symbols, width + extra, base=ground)
        rows = block_rows(block, _PlainBody(look, text_preview, limit=None))
        strips += [strip_of((), look.ground, width)] if number and rows else []
        strips += [strip_of(row.runs, row.ground, width) for row in rows]
    return strips
