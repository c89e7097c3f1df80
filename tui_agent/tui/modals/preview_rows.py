"""Draws the blocks of a preview as rows, with JSON values in colour.

Invariant: nothing is left out, shortened or invisible: long lines wrap.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from pydantic import JsonValue
from textual.strip import Strip

from tui_agent.protocol.display_blocks import (
    CustomBlock,
    DiffBlock,
    DisplayBlock,
    ImageBlock,
    JsonBlock,
    MarkdownBlock,
    TableBlock,
    TerminalBlock,
    TextBlock,
    TreeBlock,
)
from tui_agent.protocol.stored_text import LongText
from tui_agent.tui.modals.diff_strips import diff_strips
from tui_agent.tui.modals.exact_command import command_rows
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.transcript.blocks import tree_lines
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.rows import Part, Pen, cells, wrap
from tui_agent.units import format_bytes

ReadLong: TypeAlias = Callable[[LongText, Callable[[str], None]], str]
"""Function that takes a long text and a callback. It returns a preview at once, and later passes the full text to the
callback."""
JsonLine: TypeAlias = list[tuple[str, Role]]
"""A line as a sequence of (text, colour role) pairs."""
_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"{}\[\],:]+|[\s{}\[\],:]+')
"""Matches a JSON string, a number, a word, or the characters between them."""


class PreviewTexts:
    """Loads the long texts in the blocks of a preview; `on_change` is called when a text has arrived."""

    def __init__(self, blocks: Sequence[DisplayBlock], read: ReadLong, on_change: Callable[[], None]) -> None:
        self._blocks = blocks
        self._read = read
        self._on_change = on_change
        self._texts: dict[int, str] = {}
        self._pending: set[int] = set()

    @property
    def is_complete(self) -> bool:
        """True if all requested texts have arrived."""
        return not self._pending

    def text_of(self, index: int) -> str:
        """Return the text of the block at this index. Until the full text arrives, return its beginning."""
        match self._blocks[index]:
            case (
                DiffBlock(diff=text)
                | TextBlock(text=text)
                | TerminalBlock(text=text)
                | MarkdownBlock(text=text)
            ):
                pass
            case _:
                return ""
        if isinstance(text, str):
            return text
        if index not in self._texts:
            self._pending.add(index)
            self._texts[index] = self._read(text, lambda full: self._store(index, full))
        return self._texts[index]

    def _store(self, index: int, text: str) -> None:
        self._texts[index] = text
        self._pending.discard(index)
        self._on_change()


def block_rows(block: DisplayBlock, looks: Looks, width: int, text: str) -> list[Strip]:
    """Draw a block of a preview.

    `text`: the full text of a diff, a text or a program's output; ignored for other blocks.
    """
    match block:
        case DiffBlock():
            return diff_strips(block.path, text, looks, width)
        case JsonBlock():
            return json_strips(json_lines(block.data), looks, width)
        case TextBlock() | TerminalBlock() | MarkdownBlock():
            pass
        case TableBlock():
            text = "\n".join("  ".join(columns) for columns in (block.columns, *block.rows))
        case TreeBlock():
            text = "\n".join(tree_lines(block.roots))
        case ImageBlock():
            text = f"{block.name or 'image'}, {block.media_type}, {format_bytes(block.size)}"
        case CustomBlock():
            text = block.text
    return command_rows(text, looks, width, edges=False, bold=False)


def json_strips(lines: Sequence[JsonLine], looks: Looks, width: int) -> list[Strip]:
    pen = Pen(looks, "sunk")
    rows: list[Strip] = []
    for line in lines:
        left: list[Part] = [pen.part("  ")]
        indent = len(line[0][0]) - len(line[0][0].lstrip()) if line else 0
        for text, role in line:
            first, *others = _wrap_after(text, width - cells(left) - 2, width - indent - 6)
            left.append(pen.part(first, role))
            for piece in others:
                rows.append(pen.line(width, left))
                left = [pen.part(" " * (indent + 4)), pen.part(piece, role)]
        rows.append(pen.line(width, left))
    return rows


def _wrap_after(text: str, first_room: int, room: int) -> list[str]:
    """Wrap a text to `first_room` cells in the first row and `room` cells in the other rows."""
    if len(text) <= first_room:
        return [text]
    first = wrap(text, max(8, first_room))[0]
    rest = text[len(first) :].removeprefix(" ")
    return [first, *wrap(rest, max(8, room))] if rest else [first]


def json_lines(value: JsonValue) -> list[JsonLine]:
    """Return the lines of a JSON value in colour, indented by 2 spaces per level."""
    return [
        [(clean_line(token[0], reveal=True), _token_role(token)) for token in _JSON_TOKEN.finditer(line)]
        for line in json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    ]


def _token_role(token: re.Match[str]) -> Role:
    text = token[0]
    if text.startswith('"'):
        is_key = token.string.startswith(":", token.end())
        return "accent" if is_key else "string"
    if text[0] in " {}[],:":
        return "t2"
    return "keyword" if text in ("true", "false", "null") else "number"
