"""Streaming Markdown text. An update redraws only the last piece of the text.

Invariant: the rows after `update(text, done=True)` do not depend on earlier updates.
"""

import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from textual.strip import Strip

from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.transcript.inline_markdown import InlineRenderer, parser
from tui_agent.tui.transcript.markdown import Piece, Place, code_rows, render_piece
from tui_agent.tui.transcript.markdown_blocks import (
    PARAGRAPH_LIMIT,
    OpenPiece,
    alignments,
    closes_fence,
    continues,
    ends_with,
    may_close_fence,
    open_piece,
    split_cells,
    starts_table,
)
from tui_agent.tui.transcript.style import MARGIN, Look
from tui_agent.tui.transcript.styled_rows import Row, strip_of, width_of
from tui_agent.tui.transcript.syntax_highlighting import group_ends
from tui_agent.tui.transcript.table import Cell, column_widths, header_style, table_rows
from tui_agent.tui.untrusted_text import clean


class MarkdownStream:
    """One growing Markdown text as rows. The first `frozen` rows are final."""

    def __init__(self, look: Look, place: Place) -> None:
        self.rows: list[Row] = []
        self.frozen = 0
        self._look = look
        self._place = place
        self._text = ""
        self._read_up_to = 0
        """Length of the part of the text that was read, in characters. Incomplete lines are not read until the end."""
        self._size = 0
        """Length of the read part after cleaning, in characters."""
        self._open: OpenPiece | None = None
        self._fence: _Fence | None = None
        self._table: _Table | None = None
        self._blank = False
        """True if the last line that was read is empty."""
        self._family = ""
        """The kind of the last piece if it is a list item; otherwise empty. Items of one kind have no gap between them."""

    def update(self, text: str, *, done: bool) -> None:
        """Update the rows to this text; pass `done=True` if the text is complete."""
        if not text.startswith(self._text):  # another text, so begin again
            self.__init__(self._look, self._place)  # type: ignore[misc]
        self._text = text
        del self.rows[self.frozen :]
        end = len(text) if done else text.rfind("\n", self._read_up_to) + 1
        if end > self._read_up_to:
            for line in clean(text[self._read_up_to : end], tab=0).removesuffix("\n").split("\n"):
                self._read_line(line)
            self._read_up_to = end
        if done:
            self._close()
        else:
            # `clean` also turns other line breaks, such as CR and U+2028, into "\n", but the tail is drawn as one line.
            self._draw_tail(clean(text[self._read_up_to :], tab=0).replace("\n", " "))

    def _read_line(self, line: str) -> None:
        start = self._size
        self._size += len(line) + 1
        piece = self._open
        if piece is not None and self._table is None and starts_table(piece, line):
            self._begin_table(piece, line, start)
            return
        if piece is not None and not continues(piece, line):
            self._close()
            piece = None
        if piece is None:
            if not line.strip():
                self._blank = True
                return
            piece = self._begin(line)
        piece.add(line, start)
        if self._fence is not None and len(piece.lines) > 1 and not closes_fence(piece, line):
            self._freeze_code(self._fence, self._fence.add(line, start))
        elif self._table is not None:
            self._table.add(line, start)
        if ends_with(piece, line) or (piece.kind == "para" and piece.size > PARAGRAPH_LIMIT):
            self._close()

    def _begin(self, line: str) -> OpenPiece:
        piece = self._open = open_piece(line, self._blank)
        self._blank = False
        if piece.kind == "fence":
            self._fence = _Fence(piece, self._place, self._look)
        return piece

    def _begin_table(self, piece: OpenPiece, line: str, start: int) -> None:
        head, head_start = piece.lines.pop(), piece.starts.pop()
        before = piece.blank_before
        if piece.lines:
            self._close()
            before = False
        self._open = OpenPiece("table", before)
        self._table = _Table(alignments(line), self._place, self._look)
        self._table.add(head, head_start)
        self._open.add(line, start)

    def _close(self) -> None:
        """Draw the open piece for the last time."""
        piece = self._open
        if piece is None:
            return
        self._open = None
        if self._fence is not None:
            self._freeze_code(self._fence, self._fence.close())
        else:
            self._add_piece(piece, self._family, final=True)
            self.frozen = len(self.rows)
        self._fence = self._table = None
        self._family, self._blank = piece.family, piece.blanks > 0

    def _freeze_code(self, fence: "_Fence", rows: Sequence[Row]) -> None:
        if rows and not fence.begun:
            self._add_gap(fence.piece, self._family)
            fence.begun = True
        self.rows.extend(rows)
        self.frozen = len(self.rows)

    def _add_gap(self, piece: OpenPiece, family: str) -> None:
        if not self.rows or (piece.kind == "item" and piece.marker == family):
            return
        if piece.blank_before or piece.kind == "heading":
            self.rows.append(self._look.row(*self._place.rest))

    def _add_piece(self, piece: OpenPiece, family: str, *, final: bool = False) -> None:
        """Add the rows of a piece.

        `family`: the kind of the previous piece if that piece is a list item; otherwise empty.
        """
        self._add_gap(piece, family)
        if piece.kind == "table" and self._table is not None:
            self.rows.extend(self._table.final_rows() if final else self._table.provisional_rows())
        else:
            place = self._place.after_first_row() if self.rows else self._place
            count = len(piece.lines) - piece.blanks
            self.rows.extend(
                render_piece(Piece(piece.lines[:count], piece.starts[:count]), place, self._look)
            )

    def _draw_tail(self, rest: str) -> None:
        """Draw the open piece and the incomplete last line below the final rows."""
        piece, start, family = self._open, self._size, self._family
        if self._fence is not None:
            # A line that may close the fence is shown only when it is complete; else it would appear as code first.
            shown = None if not rest or may_close_fence(self._fence.piece, rest) else rest
            tail = self._fence.tail(shown, start)
            if tail and not self._fence.begun:
                self._add_gap(self._fence.piece, family)
            self.rows.extend(tail)
            return
        blank_before = self._blank
        has_rest = bool(rest.strip())
        if piece is not None and has_rest and not continues(piece, rest):
            self._add_piece(piece, family)
            family, blank_before = piece.family, piece.blanks > 0
            piece = None
        if piece is None:
            new_piece = open_piece(rest, blank_before) if has_rest else None
            if new_piece is not None and new_piece.kind != "fence":
                new_piece.add(rest, start)
                self._add_piece(new_piece, family)
        elif self._table is not None:
            self._add_piece(piece, family)
            self.rows.extend(self._table.line(rest, start) if has_rest else [])
        elif has_rest:
            grown = replace(piece, lines=[*piece.lines, rest], starts=[*piece.starts, start], blanks=0)
            self._add_piece(grown, family)
        else:
            self._add_piece(piece, family)


def markdown_strips(text: str, looks: Looks, width: int, base: Role) -> list[Strip]:
    """Draw a complete Markdown text as strips of `width` cells, without the transcript's gutter."""
    look = Look(looks.palette, looks.symbols, width + MARGIN, base=base)
    stream = MarkdownStream(look, Place((), ()))
    stream.update(text, done=True)
    return [strip_of(row.runs, row.ground, width + MARGIN).crop(0, width) for row in stream.rows]


def markdown_text(text: str, looks: Looks, width: int) -> str:
    """Return a complete Markdown text as plain lines of at most `width` cells, as the transcript shows it."""
    return "\n".join(strip.text.rstrip() for strip in markdown_strips(text, looks, width, "s0"))


class _Fence:
    """An open code block."""

    def __init__(self, piece: OpenPiece, place: Place, look: Look) -> None:
        self.piece = piece
        self.begun = False
        """True once some rows are final."""
        self._place = place.after_first_row()
        self._look = look
        self._lines: list[str] = []
        self._starts: list[int] = []

    def add(self, line: str, start: int) -> list[Row]:
        """Add a complete line, which begins at `start` in the source. Return the rows that can no longer change."""
        self._push(line, start)
        return self._flush() if group_ends(self._lines, self.piece.language) else []

    def tail(self, unfinished: str | None, start: int) -> list[Row]:
        """Return the rows that can still change: the last group of lines, and the incomplete line `unfinished`."""
        if unfinished is not None:
            self._push(unfinished, start)
        rows = self._render()
        if unfinished is not None:
            del self._lines[-1], self._starts[-1]
        return rows

    def close(self) -> list[Row]:
        """Return the remaining rows of the code block."""
        if not self._lines and not self.begun:
            self._push("", 0)
        return self._flush()

    def _push(self, line: str, start: int) -> None:
        drop = min(self.piece.indent, len(line) - len(line.lstrip(" ")))
        self._lines.append(line[drop:])
        self._starts.append(start + drop)

    def _flush(self) -> list[Row]:
        rows = self._render()
        self._lines, self._starts = [], []
        return rows

    def _render(self) -> list[Row]:
        return code_rows(self._lines, self._starts, self.piece.language, self._place, self._look)


class _Table:
    """An open table: its column widths can change until it is closed."""

    def __init__(self, align: str, place: Place, look: Look) -> None:
        self._align = align
        self._prefix = place.rest
        self._look = look
        self._cells: list[list[Cell]] = []
        self._rows: list[Row] = []
        self._widths: list[int] = []
        self._measured = self._drawn = 0
        """Number of lines when the column widths were last computed.

        `_drawn`: number of lines drawn so far.
        """

    def add(self, line: str, start: int) -> None:
        cells = self._parse(line, start)
        self._cells.append(header_style(cells, self._look) if not self._cells else cells)

    def provisional_rows(self) -> list[Row]:
        """Return the rows of all lines so far. The rows' column widths can be out of date."""
        # The widths are computed again only when the number of lines has doubled.
        if len(self._cells) >= 2 * self._measured:
            return self.final_rows()
        self._rows.extend(self._draw(self._cells[self._drawn :]))
        self._drawn = len(self._cells)
        return self._rows

    def line(self, line: str, start: int) -> list[Row]:
        """Draw an incomplete line of the table as a row with the current column widths."""
        return self._draw([self._parse(line, start)])

    def final_rows(self) -> list[Row]:
        """Return all rows of the table, with column widths computed from all cells."""
        room = self._look.right - width_of(self._prefix)
        self._widths = column_widths(self._cells, len(self._align), room)
        self._rows = self._draw(self._cells)
        self._measured = self._drawn = len(self._cells)
        return self._rows

    def _draw(self, lines: Sequence[Sequence[Cell]]) -> list[Row]:
        return table_rows(lines, self._widths, self._align, self._prefix, self._look)

    def _parse(self, line: str, start: int) -> list[Cell]:
        cells: list[Cell] = []
        inline = InlineRenderer(self._look)
        for text, offset in split_cells(line):
            bare = text.replace("\\|", "|")
            token = parser().parseInline(bare)[0]
            parts = inline.lines(token, partial(operator.add, start + offset)) if bare else [[]]
            cells.append([run for part in parts for run in part])
        return cells[: len(self._align)]
