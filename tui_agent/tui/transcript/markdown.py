"""Rows of one finished piece of Markdown: a paragraph, list item, heading or fence.

Invariant: the rows depend only on the piece, its offsets in the source and the look.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tui_agent.fast_dataclass import dataclass
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.inline_markdown import InlineRenderer, parser
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.styled_rows import DECOR, Row, TextRun, frame, width_of, wrap
from tui_agent.tui.transcript.syntax_highlighting import color_tokens, groups, lexer_for, tokens
from tui_agent.tui.transcript.table import Cell, column_widths, header_style, table_rows
from tui_agent.tui.untrusted_text import expand_tabs

if TYPE_CHECKING:  # slow, loaded with the first Markdown text
    from markdown_it.token import Token

CODE_PAD = 2


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a Markdown block.

    - `first`: runs in front of the block's first row, e.g. a list marker
    - `rest`: runs in front of the other rows, e.g. an indent
    - `role`: colour role of the block's text
    """

    first: tuple[TextRun, ...]
    rest: tuple[TextRun, ...]
    role: Role = "t1"

    def with_prefix(self, first: Sequence[TextRun], rest: Sequence[TextRun]) -> "Place":
        """Return the position of a block inside this block: `first` and `rest` follow the runs of this block."""
        return replace(self, first=(*self.first, *first), rest=(*self.rest, *rest))

    def after_first_row(self) -> "Place":
        """Return the position for the rows after the block's first row."""
        return replace(self, first=self.rest)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of Markdown as source lines. `starts` are the offsets of the lines in the source."""

    lines: Sequence[str]
    starts: Sequence[int]


def render_piece(piece: Piece, place: Place, look: Look) -> list[Row]:
    """Draw one piece of Markdown as rows."""
    return _Renderer(piece, look).blocks(parser().parse("\n".join(piece.lines)), place)


def code_rows(
    lines: Sequence[str], starts: Sequence[int], language: str, place: Place, look: Look
) -> list[Row]:
    """Draw a group of code lines as rows of full width."""
    ground = look.style("t1", "sunk")
    rows: list[Row] = []
    used = width_of(place.rest)
    room = max(look.right - used - 2 * CODE_PAD, 1)
    for line, start in zip(tokens(lines, lexer_for(language) if language else None), starts, strict=True):
        runs = color_tokens(line, lambda role: look.palette.style(role, "sunk"), start)
        for number, part in enumerate(wrap(runs, room, rest_room=room - 2, words=True)):
            prefix = place.rest if rows else place.first
            pad = TextRun(" " * (CODE_PAD + 2 if number else CODE_PAD), ground)
            shown = [*prefix, pad, *part]
            shown.append(TextRun(" " * max(look.right - width_of(shown), 0), ground))
            rows.append(Row(shown, look.ground, joined=number > 0))
    return rows


class _Renderer:
    """Draws the tokens of one piece of Markdown as rows."""

    def __init__(self, piece: Piece, look: Look) -> None:
        self._piece = piece
        self._look = look

    def blocks(self, block_tokens: Sequence["Token"], place: Place) -> list[Row]:
        rows: list[Row] = []
        last_line = -1
        for group in _split_blocks(block_tokens):
            span = group[0].map or [last_line, last_line]
            if block_rows := self._block(group, place):
                if rows and (span[0] > last_line + 1 or group[0].type == "heading_open"):
                    rows.append(self._look.row(*place.rest))
                rows.extend(block_rows)
                last_line = self._last_line(span)
                place = place.after_first_row()
        return rows

    def _last_line(self, span: Sequence[int]) -> int:
        """Return the index of the last non-blank line of a block."""
        # The parser counts blank lines after a list as part of the list.
        line = span[1] - 1
        while line > span[0] and not self._piece.lines[line].strip(" \t>"):
            line -= 1
        return line

    def _block(self, block_tokens: Sequence["Token"], place: Place) -> list[Row]:
        token = block_tokens[0]
        match token.type:
            case "paragraph_open" | "heading_open":
                return self._prose(block_tokens[1], place, bold=token.type == "heading_open")
            case "bullet_list_open" | "ordered_list_open":
                return self._list(block_tokens[1:-1], place)
            case "blockquote_open":
                rail = [TextRun(self._look.symbols.rail + " ", self._look.style("border-strong"))]
                return self.blocks(block_tokens[1:-1], replace(place, role="t2").with_prefix(rail, rail))
            case "fence" | "code_block":
                return self._code(token, place)
            case "hr":
                room = min(self._look.text, self._look.right - width_of(place.first))
                line = self._look.symbols.rule * max(room, 1)
                rule = TextRun(line, self._look.style("border"), self._start(token))
                return [self._look.row(*place.first, rule)]
            case "table_open":
                return self._table(block_tokens, place)
            case _:
                return []

    def _prose(self, token: "Token", place: Place, *, bold: bool) -> list[Row]:
        inline = InlineRenderer(self._look, place.role, bold=bold)
        room = max(self._look.text - (width_of(place.rest) - 4), 1)
        rows: list[Row] = []
        for line in inline.lines(token, self._locator(token)):
            runs = [run._replace(text=expand_tabs(run.text)) if "\t" in run.text else run for run in line]
            prefix = place.rest if rows else place.first
            rows.extend(frame(wrap(runs, room), self._look.ground, prefix, place.rest))
        return rows

    def _list(self, items: Sequence["Token"], place: Place) -> list[Row]:
        rows: list[Row] = []
        for item, *inside, _ in _split_blocks(items):
            marker = self._marker(item, inside)
            blank = [TextRun(" " * width_of(marker), self._look.ground)]
            item_rows = self.blocks(inside, place.with_prefix(marker, blank))
            rows.extend(item_rows or [self._look.row(*place.first, *marker)])
            place = place.after_first_row()
        return rows

    def _marker(self, item: "Token", inside: Sequence["Token"]) -> list[TextRun]:
        look, src = self._look, self._start(item)
        symbol = look.symbols.bullet
        role: Role = "accent"
        task = _pop_task_mark(inside)
        if task == "x":
            symbol, role = look.symbols.todo_done, "success"
        elif task:
            symbol, role = look.symbols.todo_open, "t2"
        elif item.info:
            symbol, role = f"{item.info}{item.markup}", "t2"
        return [TextRun(symbol, look.style(role), src), TextRun(" ", look.ground)]

    def _code(self, token: "Token", place: Place) -> list[Row]:
        lines = token.content.split("\n")[: -1 if token.content.endswith("\n") else None]
        first = (token.map or [0, 0])[0] + (1 if token.type == "fence" else 0)
        starts = [self._find(number, line) for number, line in enumerate(lines, first)]
        language = next(iter(token.info.split()), "")
        rows: list[Row] = []
        for start, end in groups(lines, language):
            rows.extend(code_rows(lines[start:end], starts[start:end], language, place, self._look))
            place = place.after_first_row()
        return rows or code_rows([""], [self._start(token)], "", place, self._look)

    def _table(self, table_tokens: Sequence["Token"], place: Place) -> list[Row]:
        table: list[list[Cell]] = []
        align = ""
        for index, token in enumerate(table_tokens):
            if token.type == "tr_open":
                table.append([])
            elif token.type in ("th_open", "td_open"):
                inline = table_tokens[index + 1]
                line = (token.map or table_tokens[0].map or [0])[0] + (0 if token.map else len(table) - 1)
                origin = self._find(line, inline.content)
                cells = InlineRenderer(self._look, place.role).lines(inline, partial(operator.add, origin))
                table[-1].append([run for part in cells for run in part])
                if token.type == "th_open":
                    align += _alignment(str(token.attrGet("style") or ""))
        if not table:
            return []
        table[0] = header_style(table[0], self._look)
        widths = column_widths(table, len(table[0]), self._look.right - width_of(place.rest))
        return table_rows(table, widths, align, place.rest, self._look)

    def _locator(self, token: "Token") -> Callable[[int], int]:
        """Return a function that maps an offset in the token's content to an offset in the source."""
        # The content lacks the indents and the `>` of its lines, so each line has its own distance.
        first = (token.map or [0, 0])[0]
        bounds: list[tuple[int, int]] = []
        content_start = 0
        for number, line in enumerate(token.content.split("\n"), first):
            bounds.append((content_start, self._find(number, line)))
            content_start += len(line) + 1

        def locate(offset: int) -> int:
            start, src = next(bound for bound in reversed(bounds) if offset >= bound[0])
            return src + offset - start

        return locate

    def _find(self, line: int, text: str) -> int:
        """Return the source offset of a text in a line of the piece."""
        if not 0 <= line < len(self._piece.lines):
            return DECOR
        return self._piece.starts[line] + max(self._piece.lines[line].find(text), 0)

    def _start(self, token: "Token") -> int:
        """Return the source offset of the first character of the token's first line that is not a blank."""
        line = (token.map or [0, 0])[0]
        source = self._piece.lines[line] if line < len(self._piece.lines) else ""
        return self._piece.starts[line] + len(source) - len(source.lstrip()) if source else DECOR


def _split_blocks(block_tokens: Sequence["Token"]) -> Iterator[Sequence["Token"]]:
    """Yield the tokens of each block, from the opening token to the closing token."""
    start = depth = 0
    for index, token in enumerate(block_tokens):
        depth += token.nesting
        if depth <= 0:
            yield block_tokens[start : index + 1]
            start, depth = index + 1, 0


def _pop_task_mark(inside: Sequence["Token"]) -> str:
    """Remove the mark of a task item (`[x]`) from the item's text; return `x`, a space, or `""` if there is no mark."""
    if len(inside) < 2 or inside[1].type != "inline" or not inside[1].children:
        return ""
    first = inside[1].children[0]
    mark = first.content[:4].lower()
    if first.type != "text" or mark not in ("[ ] ", "[x] "):
        return ""
    first.content = first.content[4:]
    return mark[1]


def _alignment(style: str) -> str:
    return "r" if "right" in style else "c" if "center" in style else "l"
