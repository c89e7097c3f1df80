"""One entry's place in the layout. Invariant: plain; only the layout and its ages write it."""

from dataclasses import dataclass

from tui_agent.tui.transcript.markdown_stream import MarkdownStream
from tui_agent.tui.transcript.rows import Row


@dataclass(slots=True)
class Slot:
    """`rows` is None while the entry is not drawn; `group` is the index of the slot whose row stands for it, or -1."""

    id: str
    revision: int
    count: int = 0
    gap: int = 0
    spacious: bool = False
    exact: bool = False
    opened: bool | None = None
    past: bool = False
    active: bool = False
    group: int = -1
    rows: list[Row] | None = None
    stream: MarkdownStream | None = None
