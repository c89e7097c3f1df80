"""Diffs, JSON and the blocks of a preview as rows, whole, with every hidden character shown.

Invariant: nothing is left out, shortened or invisible; long lines wrap with their continuation indented.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import JsonValue
from rich.segment import Segment
from textual.strip import Strip

from tui_agent.errors import BlobNotFound
from tui_agent.folds.text.line_diff import diff_lines
from tui_agent.protocol.base import LongText
from tui_agent.protocol.display import (
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
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.exact_command import command_rows, trailing_marked
from tui_agent.tui.text import cell_text, clean, clean_line
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.transcript.blocks import tree_lines
from tui_agent.tui.transcript.diff import diff_rows, parse_diff
from tui_agent.tui.transcript.rows import strip_of
from tui_agent.tui.transcript.style import MARGIN, TEXT_COLUMN, Look
from tui_agent.tui.widgets.rows import row, wrap
from tui_agent.units import format_bytes

LONGEST_CODE_LINE = 3000
ReadLong: TypeAlias = Callable[[LongText, Callable[[str], None]], str]
"""What is known of a long text now; the function given is called with the whole of it later."""


class PreviewTexts:
    """The long texts of a preview, whole as soon as they were read; `changed` is told of every one that came."""

    def __init__(self, blocks: Sequence[DisplayBlock], read: ReadLong, changed: Callable[[], None]) -> None:
        self._blocks = blocks
        self._read = read
        self._changed = changed
        self._whole: dict[int, str] = {}
        self._coming: set[int] = set()

    @property
    def whole(self) -> bool:
        """Whether every text that was asked for is there."""
        return not self._coming

    def of(self, index: int) -> str:
        """The text of a block, its preview until the whole is there."""
        match self._blocks[index]:
            case (
                DiffBlock(diff=held)
                | TextBlock(text=held)
                | TerminalBlock(text=held)
                | MarkdownBlock(text=held)
            ):
                pass
            case _:
                return ""
        if isinstance(held, str):
            return held
        if index not in self._whole:
            self._coming.add(index)
            self._whole[index] = self._read(held, lambda text: self._arrived(index, text))
        return self._whole[index]

    def _arrived(self, index: int, text: str) -> None:
        self._whole[index] = text
        self._coming.discard(index)
        self._changed()


def text_rows(text: str, looks: Looks, width: int) -> list[Strip]:
    """Plain text on the sunk ground, exactly."""
    return command_rows(text, looks, width, edges=False, bold=False)


def diff_strips(path: str, diff: str, language: str, looks: Looks, width: int) -> list[Strip]:
    """A unified diff with its code colours, `width` cells wide, without the transcript's gutter."""
    shown = trailing_marked(clean(diff, reveal=True))
    if any(len(line) > LONGEST_CODE_LINE for line in shown.split("\n")):
        return _plain_diff(shown, looks, width)
    look = Look(looks.palette, looks.symbols, width + TEXT_COLUMN + MARGIN)
    drawn = diff_rows(parse_diff(shown, reveal=False), path, language, look)
    return [
        strip_of(one.runs, one.ground, look.width).crop(TEXT_COLUMN, TEXT_COLUMN + width) for one in drawn
    ]


def _plain_diff(shown: str, looks: Looks, width: int) -> list[Strip]:
    rich = looks.palette.rich
    rows: list[Strip] = []
    for line in shown.split("\n"):
        ground = "diff-add" if line.startswith("+") else "diff-del" if line.startswith("-") else "sunk"
        style = rich("t1", ground)  # type: ignore[arg-type]
        pieces = wrap(line, max(8, width - 2))
        rows += [row(width, [(" ", style), (piece, style)], fill=style) for piece in pieces]
    return rows


def block_rows(block: DisplayBlock, looks: Looks, width: int, text: str) -> list[Strip]:
    """One block of a preview; `text` is the whole of its long text where it has one."""
    match block:
        case DiffBlock():
            return diff_strips(block.path, text, block.language, looks, width)
        case TextBlock() | TerminalBlock() | MarkdownBlock():
            return text_rows(text, looks, width)
        case TableBlock():
            lines = ["  ".join(cells) for cells in (block.columns, *block.rows)]
            return text_rows("\n".join(lines), looks, width)
        case TreeBlock():
            return text_rows("\n".join(tree_lines(block.roots)), looks, width)
        case JsonBlock():
            return json_strips(json_lines(block.data), looks, width)
        case ImageBlock():
            return text_rows(
                f"{block.name or 'image'}, {block.media_type}, {format_bytes(block.size)}", looks, width
            )
        case CustomBlock():
            return text_rows(block.text, looks, width)


def json_strips(
    lines: Sequence[Sequence[tuple[str, str]]], looks: Looks, width: int, ground: str = "sunk"
) -> list[Strip]:
    """Coloured JSON lines as strips, wrapped."""
    rich = looks.palette.rich
    fill = rich("t1", ground)  # type: ignore[arg-type]
    rows: list[Strip] = []
    for line in lines:
        used, current = 2, [Segment("  ", fill)]
        indent = len(line[0][0]) - len(line[0][0].lstrip()) if line else 0
        for text, role in line:
            style = rich(role, ground)  # type: ignore[arg-type]
            for at, piece in enumerate(_pieces(text, width - used - 2, width - indent - 6)):
                if at:
                    rows.append(Strip(current).adjust_cell_length(width, fill))
                    current = [Segment(" " * (indent + 4), fill)]
                current.append(Segment(cell_text(piece), style))
            used = sum(segment.cell_length for segment in current)
        rows.append(Strip(current).adjust_cell_length(width, fill))
    return rows


def _pieces(text: str, first: int, rest: int) -> list[str]:
    if len(text) <= first:
        return [text]
    pieces = wrap(text, max(8, first))
    if len(pieces) > 1:
        joined = text[len(pieces[0]) :].removeprefix(" ")
        return [pieces[0], *wrap(joined, max(8, rest))]
    return pieces


Line = list[tuple[str, str]]
"""Pieces of text with the role of their colour."""


def json_lines(value: JsonValue) -> list[Line]:
    """The value, two spaces a level."""
    lines: list[Line] = []
    current: Line = []
    for piece in _json_pieces(value, 0):
        if piece is None:
            lines.append(current)
            current = []
        else:
            current.append(piece)
    lines.append(current)
    return lines


def _json_pieces(value: JsonValue, depth: int) -> Iterator[tuple[str, str] | None]:
    pad = "  " * (depth + 1)
    if isinstance(value, dict):
        if not value:
            yield "{}", "t2"
            return
        yield "{", "t2"
        for at, (key, inner) in enumerate(value.items()):
            yield None
            yield pad + clean_line(json.dumps(key, ensure_ascii=False), reveal=True), "accent"
            yield ": ", "t2"
            yield from _json_pieces(inner, depth + 1)
            if at + 1 < len(value):
                yield ",", "t2"
        yield None
        yield "  " * depth + "}", "t2"
    elif isinstance(value, list):
        if not value:
            yield "[]", "t2"
            return
        yield "[", "t2"
        for at, inner in enumerate(value):
            yield None
            yield pad, "t2"
            yield from _json_pieces(inner, depth + 1)
            if at + 1 < len(value):
                yield ",", "t2"
        yield None
        yield "  " * depth + "]", "t2"
    elif isinstance(value, str):
        yield clean_line(json.dumps(value, ensure_ascii=False), reveal=True), "string"
    else:
        yield (
            json.dumps(value),
            "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else "keyword",
        )


LARGEST = 400_000


@dataclass(frozen=True, slots=True)
class Compared:
    """One file's content before and after: hunks with their counts, or a sentence in place of them."""

    text: str = ""
    added: int = 0
    removed: int = 0
    said: str = ""


async def compared(context: AppContext, old: str | None, new: str | None) -> Compared:
    """What lies between two contents, by their digests in the open session; None is no file."""
    try:
        before = await _read(context, old)
        after = await _read(context, new)
    except BlobNotFound:
        return Compared(said="Its content is no longer in the session's folder, so it cannot be compared.")
    if len(before) > LARGEST or len(after) > LARGEST:
        return Compared(said="Too large to compare here.")
    if "\0" in before or "\0" in after:
        return Compared(said="A binary file.")
    made = await asyncio.to_thread(diff_lines, before, after)
    if not made.text:
        more = " Secrets in it are not kept: one may be another." if "[redacted: " in before else ""
        return Compared(said=f"The content is what it was.{more}")
    return Compared(made.text, made.added, made.removed)


async def _read(context: AppContext, blob: str | None) -> str:
    if blob is None or context.session is None:
        return ""
    return (await context.session.read_blob(blob)).decode("utf-8", "replace")
