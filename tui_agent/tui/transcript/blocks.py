"""Display blocks as body rows under a tool's or a notice's head row.

Invariant: a block of any kind gives rows, and `limit` only hides whole rows, saying how many. Texts that are not there
yet show their preview until they are.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from tui_agent.protocol.base import BlobText, LongText
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
    TreeNode,
)
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.text import clean, clean_line
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.code import coloured, lexer_for, tokens
from tui_agent.tui.transcript.diff import diff_rows, parse_diff
from tui_agent.tui.transcript.markdown import Place
from tui_agent.tui.transcript.markdown_stream import MarkdownStream
from tui_agent.tui.transcript.output import output_lines, output_rows
from tui_agent.tui.transcript.rows import LITERAL, Row, Run, frame, wrap
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.table import Cell, column_widths, header_style, table_rows
from tui_agent.units import format_bytes

OUTPUT_ROWS: Final = 8
LIVE_ROWS: Final = 6
DIFF_ROWS: Final = 12
ROW_LIMIT: Final = 5_000
"""The most rows that one opened body gets; the whole is in the file or the session's blob."""

Reader = Callable[[LongText], str]


@dataclass(frozen=True, slots=True)
class Body:
    """How a body is drawn: the rail's role, the most rows to show (None: all), and how long texts are read."""

    look: Look
    read: Reader
    rail: Role = "border-strong"
    limit: int | None = OUTPUT_ROWS
    dim: bool = False

    def prefix(self) -> list[Run]:
        """The gutter with the rail."""
        return self.look.rail(self.rail)


def body_rows(blocks: Sequence[DisplayBlock], body: Body) -> list[Row]:
    """The rows of all blocks, one under the other."""
    rows: list[Row] = []
    for block in blocks:
        rows.extend(block_rows(block, body))
    return rows


def block_rows(block: DisplayBlock, body: Body) -> list[Row]:
    """The rows of one block."""
    match block:
        case TerminalBlock():
            return tail_rows(body.read(block.text), block.omitted, body)
        case TextBlock():
            return head_rows(_plain(body.read(block.text), body.look), body)
        case DiffBlock():
            return _diff(block, body)
        case MarkdownBlock():
            return markdown_rows(body.read(block.text), body)
        case TableBlock():
            return _table(block, body)
        case TreeBlock():
            return head_rows(_plain("\n".join(tree_lines(block.roots)), body.look), body)
        case JsonBlock():
            return _json(block, body)
        case ImageBlock():
            name = f"{block.name or 'image'}  {block.media_type}  {format_bytes(block.size)}"
            return head_rows(_plain(name, body.look), body)
        case CustomBlock():
            return head_rows(_plain(block.text, body.look), body)
        case _:
            assert_never(block)


def line_count(block: DisplayBlock, read: Reader) -> int:
    """How many lines a folded block would have, without drawing it."""
    match block:
        case TerminalBlock():
            return block.omitted + _lines(block.text, read)
        case TextBlock() | MarkdownBlock():
            return _lines(block.text, read)
        case DiffBlock():
            return _lines(block.diff, read)
        case TableBlock():
            return len(block.rows) + 1
        case CustomBlock():
            return block.text.count("\n") + 1
        case TreeBlock():
            return len(tree_lines(block.roots))
        case _:
            return 1


def tail_rows(text: str, omitted: int, body: Body) -> list[Row]:
    """The last lines of an output, with the number of those before them."""
    lines = text.removesuffix("\n").split("\n") if text else []
    limit = ROW_LIMIT if body.limit is None else body.limit
    held = lines[-limit:]
    before = omitted + len(lines) - len(held)
    prefix = body.prefix()
    rows = output_rows(output_lines("\n".join(held), body.look), prefix, prefix, body.look) if held else []
    if body.limit is not None and len(rows) > body.limit:
        rows = _whole_lines(rows, body.limit)
        shown = sum(not row.joined for row in rows)
        before = omitted + len(lines) - shown
    if before:
        rows.insert(0, _note(format_count(before, "earlier line"), body))
    return rows


def head_rows(lines: Sequence[Sequence[Run]], body: Body) -> list[Row]:
    """The first lines of a text, with the number of those behind them."""
    limit = ROW_LIMIT if body.limit is None else body.limit
    held = lines[:limit]
    prefix = body.prefix()
    rows = output_rows(held, prefix, prefix, body.look)
    more = len(lines) - len(held)
    if more:
        rows.append(_note(format_count(more, "more line"), body))
    return rows


def prose_rows(text: str, role: Role, body: Body, *, bold: bool = False) -> list[Row]:
    """Sentences on the rail, wrapped at words."""
    prefix = body.prefix()
    rows: list[Row] = []
    room = min(body.look.text, body.look.full) - 2
    for line in clean(text).split("\n"):
        runs = [Run(line, body.look.s(role, bold=bold), LITERAL)]
        rows.extend(frame(wrap(runs, room), body.look.ground, prefix))
    return rows


def _whole_lines(rows: list[Row], limit: int) -> list[Row]:
    """At most `limit` rows from the end, not starting inside a line unless most of them would be lost by that."""
    start = len(rows) - limit
    while start < len(rows) - limit // 2 and rows[start].joined:
        start += 1
    return rows[-limit:] if rows[start].joined else rows[start:]


def _diff(block: DiffBlock, body: Body) -> list[Row]:
    lines = parse_diff(body.read(block.diff))
    limit = ROW_LIMIT if body.limit is None else DIFF_ROWS
    rows = diff_rows(lines[:limit], block.path, block.language, body.look, dim=body.dim)
    if len(lines) > limit:
        more = len(lines) - limit
        note = Run(format_count(more, "more line"), body.look.s("t3"), act="fold")
        rows.append(Row([body.look.gutter(), note], body.look.ground))
    return rows


def markdown_rows(text: str, body: Body) -> list[Row]:
    """Markdown on the rail."""
    prefix = tuple(body.prefix())
    stream = MarkdownStream(body.look, Place(prefix, prefix, role="t2"))
    stream.update(text, done=True)
    limit = ROW_LIMIT if body.limit is None else body.limit
    rows = literal(stream.rows)
    if len(rows) <= limit:
        return rows
    more = len(rows) - limit
    return [*rows[:limit], _note(format_count(more, "more line"), body)]


def literal(rows: Iterable[Row]) -> list[Row]:
    """Rows of Markdown that is not the entry's own text: what is shown is what is copied."""
    return [
        Row([run._replace(src=LITERAL) if run.src >= 0 else run for run in row.runs], row.ground, row.joined)
        for row in rows
    ]


def _table(block: TableBlock, body: Body) -> list[Row]:
    look = body.look
    head: list[Cell] = [[Run(clean_line(cell), look.s("t2"), LITERAL)] for cell in block.columns]
    limit = ROW_LIMIT if body.limit is None else body.limit
    cells = [[[Run(clean_line(cell), look.s("t2"), LITERAL)] for cell in row] for row in block.rows[:limit]]
    table = [header_style(head, look), *cells]
    widths = column_widths(table, len(block.columns), look.full - 2)
    rows = table_rows(table, widths, block.align, body.prefix(), look)
    more = len(block.rows) - limit
    if more > 0:
        rows.append(_note(f"{more} more {'row' if more == 1 else 'rows'}", body))
    return rows


def _json(block: JsonBlock, body: Body) -> list[Row]:
    lines = clean(json.dumps(block.data, indent=2, ensure_ascii=False)).split("\n")
    found = tokens(lines, lexer_for("json"))
    return head_rows([coloured(line, body.look.s, LITERAL) for line in found], body)


def _plain(text: str, look: Look) -> list[list[Run]]:
    return [[Run(line, look.s("t2"), LITERAL)] for line in clean(text).removesuffix("\n").split("\n")]


def tree_lines(nodes: Sequence[TreeNode]) -> list[str]:
    """Return the labels of a tree, indented by their depth."""
    lines: list[str] = []
    pending = [(node, 0) for node in reversed(nodes)]
    while pending:
        node, level = pending.pop()
        lines.append("  " * level + clean_line(node.label))
        pending.extend((child, level + 1) for child in reversed(node.children))
    return lines


def _note(text: str, body: Body) -> Row:
    return Row([*body.prefix(), Run(text, body.look.s("t3"), act="fold")], body.look.ground)


def _lines(text: LongText, read: Reader) -> int:
    shown = read(text) if isinstance(text, BlobText) else text
    return shown.removesuffix("\n").count("\n") + 1 if shown else 0
