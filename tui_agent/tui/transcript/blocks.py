"""Rows for display blocks: the body below the head row of a tool call or a notice in the transcript.

Invariant: every kind of block has rows. `limit` hides only whole rows, and a row says how many are hidden. If a text is
not loaded, a preview is shown.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final, assert_never

from tui_agent.fast_dataclass import dataclass
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
    TreeNode,
)
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.text import clean, clean_line
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.code import color_tokens, lexer_for, tokens
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
"""Maximum number of rows of an unfolded body. The complete text is in the shown file or in the session's store."""

Reader = Callable[[LongText], str]


@dataclass(frozen=True, slots=True)
class Body:
    """Settings for drawing the body of a transcript entry.

    `read` reads long texts; `limit` is the maximum number of rows, None for all.
    """

    look: Look
    read: Reader
    rail: Role = "border-strong"
    limit: int | None = OUTPUT_ROWS
    dim: bool = False

    @property
    def max_rows(self) -> int:
        """The maximum number of rows of the body."""
        return ROW_LIMIT if self.limit is None else self.limit

    def row(self, *runs: Run) -> Row:
        """Return a row of the body. The row begins with the gutter and the rail (a vertical line)."""
        return self.look.row(*self.prefix(), *runs)

    def prefix(self) -> list[Run]:
        """Return the gutter and the rail. Each row of the body begins with them."""
        return self.look.rail(self.rail)

    def count_hidden(self, rows: list[Row], hidden: int, unit: str = "line") -> list[Row]:
        """Return the rows, followed by a row such as `12 more lines` if `hidden` is positive."""
        return [*rows, self.row(self.look.hint(format_count(hidden, f"more {unit}")))] if hidden > 0 else rows


def body_rows(blocks: Sequence[DisplayBlock], body: Body) -> list[Row]:
    return [row for block in blocks for row in block_rows(block, body)]


def block_rows(block: DisplayBlock, body: Body) -> list[Row]:
    """Draw one display block as rows of the body."""
    match block:
        case TerminalBlock():
            return tail_rows(body.read(block.text), block.omitted, body)
        case TextBlock():
            return _text_rows(body.read(block.text), body)
        case DiffBlock():
            return _diff(block, body)
        case MarkdownBlock():
            return markdown_rows(body.read(block.text), body)
        case TableBlock():
            return _table(block, body)
        case TreeBlock():
            return _text_rows("\n".join(tree_lines(block.roots)), body)
        case JsonBlock():
            return _json(block, body)
        case ImageBlock():
            name = f"{block.name or 'image'}  {block.media_type}  {format_bytes(block.size)}"
            return _text_rows(name, body)
        case CustomBlock():
            return _text_rows(block.text, body)
        case _:
            assert_never(block)


def line_count(block: DisplayBlock, read: Reader) -> int:
    """Count the lines of a block that is folded, without drawing the block."""
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
    """Draw the last lines of an output, below a row that counts the lines before them."""
    lines = text.removesuffix("\n").split("\n") if text else []
    last_lines = lines[-body.max_rows :]
    visible = len(last_lines)
    prefix = body.prefix()
    rows = (
        output_rows(output_lines("\n".join(last_lines), body.look), prefix, body.look) if last_lines else []
    )
    if body.limit is not None and len(rows) > body.limit:
        rows = _last_rows(rows, body.limit)
        visible = sum(not row.joined for row in rows)
    if earlier := omitted + len(lines) - visible:
        rows.insert(0, body.row(body.look.hint(format_count(earlier, "earlier line"))))
    return rows


def head_rows(lines: Sequence[Sequence[Run]], body: Body) -> list[Row]:
    """Draw the first lines of a text, above a row that counts the lines after them."""
    rows = output_rows(lines[: body.max_rows], body.prefix(), body.look)
    return body.count_hidden(rows, len(lines) - body.max_rows)


def prose_rows(text: str, role: Role, body: Body, *, bold: bool = False) -> list[Row]:
    """Draw a text on the right side of the rail (a vertical line), wrapped at words."""
    rows: list[Row] = []
    for line in clean(text).split("\n"):
        runs = [Run(line, body.look.style(role, bold=bold), LITERAL)]
        rows += frame(wrap(runs, body.look.text - 2), body.look.ground, body.prefix())
    return rows


def user_words_rows(text: str, look: Look) -> list[Row]:
    """Draw a text of the user below a tool call, in the look of the user's messages."""
    prefix = [
        look.gutter(),
        Run(look.symbols.bar, look.style("accent", "s2")),
        Run(" ", look.style("t1", "s2")),
    ]
    style = look.style("t1", "s2", bold=True)
    return [
        row
        for line in clean(text).split("\n")
        for row in frame(wrap([Run(line, style, LITERAL)], look.text - 2), look.ground, prefix)
    ]


def _last_rows(rows: list[Row], limit: int) -> list[Row]:
    """Return the last rows: at most `limit` and at least half of `limit`.

    If possible, the first returned row is the first row of a line.
    """
    start = len(rows) - limit
    while start < len(rows) - limit // 2 and rows[start].joined:
        start += 1
    return rows[-limit:] if rows[start].joined else rows[start:]


def _diff(block: DiffBlock, body: Body) -> list[Row]:
    lines = parse_diff(body.read(block.diff))
    limit = ROW_LIMIT if body.limit is None else DIFF_ROWS
    rows = diff_rows(lines[:limit], block.path, body.look, dim=body.dim)
    if len(lines) > limit:
        rows.append(body.look.row(body.look.gutter(), body.look.more_lines(len(lines) - limit)))
    return rows


def markdown_rows(text: str, body: Body) -> list[Row]:
    """Draw a Markdown text on the right side of the rail (a vertical line)."""
    prefix = tuple(body.prefix())
    stream = MarkdownStream(body.look, Place(prefix, prefix, role="t2"))
    stream.update(text, done=True)
    rows = literal_rows(stream.rows)
    return body.count_hidden(rows[: body.max_rows], len(rows) - body.max_rows)


def literal_rows(rows: Iterable[Row]) -> list[Row]:
    """Mark rows so that copying gives the shown text instead of the Markdown source."""
    return [
        Row([run._replace(src=LITERAL) if run.src >= 0 else run for run in row.runs], row.ground, row.joined)
        for row in rows
    ]


def _table(block: TableBlock, body: Body) -> list[Row]:
    look = body.look
    table: list[list[Cell]] = [
        [[Run(clean_line(cell), look.style("t2"), LITERAL)] for cell in row]
        for row in (block.columns, *block.rows[: body.max_rows])
    ]
    table[0] = header_style(table[0], look)
    widths = column_widths(table, len(block.columns), look.full - 2)
    rows = table_rows(table, widths, block.align, body.prefix(), look)
    return body.count_hidden(rows, len(block.rows) - body.max_rows, "row")


def _json(block: JsonBlock, body: Body) -> list[Row]:
    lines = clean(json.dumps(block.data, indent=2, ensure_ascii=False)).split("\n")
    return head_rows(
        [color_tokens(line, body.look.style, LITERAL) for line in tokens(lines, lexer_for("json"))], body
    )


def _text_rows(text: str, body: Body) -> list[Row]:
    lines = clean(text).removesuffix("\n").split("\n")
    return head_rows([[Run(line, body.look.style("t2"), LITERAL)] for line in lines], body)


def tree_lines(nodes: Sequence[TreeNode]) -> list[str]:
    """Return the labels in a tree as lines, indented by their depth."""
    lines: list[str] = []
    pending = [(node, 0) for node in reversed(nodes)]
    while pending:
        node, level = pending.pop()
        lines.append("  " * level + clean_line(node.label))
        pending.extend((child, level + 1) for child in reversed(node.children))
    return lines


def _lines(text: LongText, read: Reader) -> int:
    shown = read(text)
    return shown.removesuffix("\n").count("\n") + 1 if shown else 0
