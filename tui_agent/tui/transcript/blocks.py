"""Rows for display blocks: below the head row of a tool call or a notice in the transcript, and in panes of plugins.

Invariant: every kind of block has rows, and a block looks the same in the transcript and in a pane.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, assert_never

from textual.strip import Strip

from tui_agent.fast_dataclass import dataclass
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
    TreeNode,
)
from tui_agent.protocol.stored_text import LongText, text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.transcript.diff import diff_rows, parse_diff
from tui_agent.tui.transcript.markdown import Place
from tui_agent.tui.transcript.markdown_stream import MarkdownStream
from tui_agent.tui.transcript.output_rows import output_lines, output_rows
from tui_agent.tui.transcript.style import TEXT_COLUMN, Look
from tui_agent.tui.transcript.styled_rows import LITERAL, Row, TextRun, frame, strip_of, wrap
from tui_agent.tui.transcript.syntax_highlighting import color_tokens, lexer_for, tokens
from tui_agent.tui.transcript.table import Cell, column_widths, header_style, table_rows
from tui_agent.tui.untrusted_text import clean, clean_line
from tui_agent.units import format_bytes

OUTPUT_ROWS: Final = 8
"""Maximum number of rows of a folded output."""
LIVE_ROWS: Final = 6
"""Maximum number of rows of the output of a running call."""
LINE_ROWS: Final = 3
"""Maximum number of rows of one line of a folded output: a long line must not hide the lines around it."""
DIFF_ROWS: Final = 12
"""Maximum number of lines of a folded diff."""
PART_LINES: Final = 5_000
"""Maximum number of lines of an unfolded text that are drawn at a time."""
INDENT: Final = 2
"""Empty cells on the left of each row outside the transcript."""
PART: Final = "part:"
"""Prefix of a click action that shows another part of an unfolded text.

Example: `part:5000:2500` moves the first shown line from 5000 to 2500.
"""

Reader = Callable[[LongText], str]


@dataclass(frozen=True, slots=True)
class Body:
    """Settings for drawing the body of a transcript entry.

    - `read`: function that reads long texts
    - `rail`: colour of the vertical line on the left
    - `limit`: maximum number of rows of a folded body; None for an unfolded body
    - `start`: number of the line shown first in a long unfolded body; None for the default
    """

    look: Look
    read: Reader
    rail: Role = "border-strong"
    limit: int | None = OUTPUT_ROWS
    dim: bool = False
    start: int | None = None

    def shown_part(self, lines: int, *, from_end: bool = False) -> slice:
        """Return the slice of lines to show. `lines`: total number of lines.

        `from_end`: True to show the last lines by default; False to show the first lines.
        """
        limit = PART_LINES if self.limit is None else self.limit
        last = max(lines - limit, 0)
        chosen = self.start if self.limit is None else None
        start = (last if from_end else 0) if chosen is None else min(chosen, last)
        return slice(start, min(start + limit, lines))

    def row(self, *runs: TextRun) -> Row:
        """Return a row of the body, with the vertical line on the left."""
        return self.look.row(*self.prefix(), *runs)

    def prefix(self) -> list[TextRun]:
        """Return the beginning of each row of the body: the left margin and a vertical line."""
        return self.look.rail(self.rail)

    def count_hidden(
        self,
        rows: list[Row],
        part: slice,
        lines: int,
        *,
        before: int | None = None,
        unit: str = "line",
        has_rail: bool = True,
    ) -> list[Row]:
        """Add hints about hidden lines, such as `12 earlier lines` above and `12 more lines` below `rows`.

        - `part`: the slice of lines that `rows` show
        - `lines`: total number of lines
        - `before`: number of hidden lines above; None for `part.start`
        """
        before = part.start if before is None else before
        half = (
            PART_LINES // 2
        )  # The next part repeats half of this one, so that the reader keeps the context.
        counts = (
            (before, f"earlier {unit}", max(part.start - half, 0)),
            (lines - part.stop, f"more {unit}", min(part.start + half, lines - PART_LINES)),
        )
        prefix = self.prefix() if has_rail else [self.look.gutter()]
        first, last = (
            [self.look.row(*prefix, self._hint(format_count(count, noun), part.start, target))]
            if count > 0
            else []
            for count, noun, target in counts
        )
        return [*first, *rows, *last]

    def _hint(self, text: str, start: int, target: int) -> TextRun:
        """Return a hint such as `12 more lines`.

        In an unfolded body, a click on the hint moves the first shown line from `start` to `target`.
        """
        hint = self.look.hint(text)
        moves = self.limit is None and start != target
        return hint._replace(act=f"{PART}{start}:{target}") if moves else hint


def part_move(row: Row) -> tuple[int, int] | None:
    """Return (current first line, first line after a click) for a row such as `12 earlier lines`.

    Return None for any other row.
    """
    act = next((run.act for run in row.runs if run.act.startswith(PART)), "")
    start, _, target = act.removeprefix(PART).partition(":")
    return (int(start), int(target)) if act else None


def row_of_line(rows: Sequence[Row], line: int) -> int:
    """Return the index of the first row that shows the line `line` of an entry's text.

    `rows`: the rows of a partly shown entry.
    """
    moves = {index: move for index, row in enumerate(rows) if (move := part_move(row)) is not None}
    for index, (start, target) in moves.items():
        if target < start:  # The row above the part.
            firsts = [number for number in range(index + 1, len(rows)) if not rows[number].joined]
            return firsts[min(max(line - start, 0), len(firsts) - 1)] if firsts else index
        firsts = [number for number in range(index - 1, -1, -1) if not rows[number].joined]
        return firsts[min(max(start + PART_LINES - 1 - line, 0), len(firsts) - 1)] if firsts else index
    return 0


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
    """Count the lines of a folded block without drawing it."""
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
    """Draw a program's output, by default the last lines, without empty lines at the end.

    `omitted`: number of lines that are missing before `text`.
    """
    lines = text.split("\n")
    while lines and not clean_line(lines[-1]).strip():
        lines.pop()
    part = body.shown_part(len(lines), from_end=True)
    shown = lines[part]
    rows = _line_rows(output_lines("\n".join(shown), body.look), body) if shown else []
    before = part.start
    # A long line takes several rows, so the lines of the part can need more rows than the limit.
    if body.limit is not None and len(rows) > body.limit:
        rows = _last_rows(rows, body.limit)
        before = len(lines) - sum(not row.joined for row in rows)
    return body.count_hidden(rows, part, len(lines), before=omitted + before)


def head_rows(lines: Sequence[Sequence[TextRun]], body: Body) -> list[Row]:
    """Draw the lines of a text; by default, the first lines are shown."""
    part = body.shown_part(len(lines))
    return body.count_hidden(_line_rows(lines[part], body), part, len(lines))


def _line_rows(lines: Sequence[Sequence[TextRun]], body: Body) -> list[Row]:
    return output_rows(lines, body.prefix(), body.look, None if body.limit is None else LINE_ROWS)


def prose_rows(text: str, role: Role, body: Body, *, bold: bool = False) -> list[Row]:
    """Draw a text on the right side of the rail (a vertical line), wrapped at words."""
    rows: list[Row] = []
    for line in clean(text).split("\n"):
        runs = [TextRun(line, body.look.style(role, bold=bold), LITERAL)]
        rows += frame(wrap(runs, body.look.text - 2), body.look.ground, body.prefix())
    return rows


def user_words_rows(text: str, look: Look) -> list[Row]:
    """Draw a text of the user below a tool call, in the look of the user's messages."""
    prefix = [
        look.gutter(),
        TextRun(look.symbols.bar, look.style("accent", "s2")),
        TextRun(" ", look.style("t1", "s2")),
    ]
    style = look.style("t1", "s2", bold=True)
    return [
        row
        for line in clean(text).split("\n")
        for row in frame(wrap([TextRun(line, style, LITERAL)], look.text - 2), look.ground, prefix)
    ]


def _last_rows(rows: list[Row], limit: int) -> list[Row]:
    """Return at most the last `limit` rows; if possible, begin with the start of a line."""
    start = len(rows) - limit
    while start < len(rows) - limit // 2 and rows[start].joined:
        start += 1
    return rows[-limit:] if rows[start].joined else rows[start:]


def _diff(block: DiffBlock, body: Body) -> list[Row]:
    lines = parse_diff(body.read(block.diff))
    part = replace(body, limit=body.limit and DIFF_ROWS).shown_part(
        len(lines)
    )  # None, for unfolded, stays None
    rows = diff_rows(lines[part], block.path, body.look, dim=body.dim)
    return body.count_hidden(rows, part, len(lines), has_rail=False)


def markdown_rows(text: str, body: Body) -> list[Row]:
    """Draw a Markdown text on the right side of the rail (a vertical line)."""
    prefix = tuple(body.prefix())
    stream = MarkdownStream(body.look, Place(prefix, prefix, role="t2"))
    stream.update(text, done=True)
    rows = literal_rows(stream.rows)
    part = body.shown_part(len(rows))
    return body.count_hidden(rows[part], part, len(rows))


def literal_rows(rows: Iterable[Row]) -> list[Row]:
    """Mark rows so that copying gives the shown text instead of the Markdown source."""
    return [
        Row([run._replace(src=LITERAL) if run.src >= 0 else run for run in row.runs], row.ground, row.joined)
        for row in rows
    ]


def _table(block: TableBlock, body: Body) -> list[Row]:
    look, part = body.look, body.shown_part(len(block.rows))
    table: list[list[Cell]] = [
        [[TextRun(clean_line(cell), look.style("t2"), LITERAL)] for cell in row]
        for row in (block.columns, *block.rows[part])
    ]
    table[0] = header_style(table[0], look)
    widths = column_widths(table, len(block.columns), look.full - 2)
    rows = table_rows(table, widths, block.align, body.prefix(), look)
    return body.count_hidden(rows, part, len(block.rows), unit="row")


def _json(block: JsonBlock, body: Body) -> list[Row]:
    lines = clean(json.dumps(block.data, indent=2, ensure_ascii=False)).split("\n")
    return head_rows(
        [color_tokens(line, body.look.style, LITERAL) for line in tokens(lines, lexer_for("json"))], body
    )


def _text_rows(text: str, body: Body) -> list[Row]:
    lines = clean(text).removesuffix("\n").split("\n")
    return head_rows([[TextRun(line, body.look.style("t2"), LITERAL)] for line in lines], body)


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


@dataclass(frozen=True, slots=True)
class _PlainBody(Body):
    def prefix(self) -> list[TextRun]:
        return [TextRun(" " * INDENT, self.look.ground)]


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
