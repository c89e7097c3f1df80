"""One finished piece of Markdown (a paragraph, an item, a heading, a fence) as rows.

Invariant: the rows follow from the piece alone, its place in the source and the look; nothing after it can change them.
Lists are set tight, and an item shows the number that its source has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_agent.tui.text import expand_tabs
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.code import code_style, coloured, groups, lexer_for, tokens
from tui_agent.tui.transcript.inline import Inline, parser
from tui_agent.tui.transcript.rows import DECOR, Row, Run, frame, width_of, wrap
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.table import Cell, column_widths, header_style, table_rows

if TYPE_CHECKING:
    from markdown_it.token import Token

CODE_PAD = 2


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block goes: the runs in front of its first and its other rows, and the tone of its text."""

    first: tuple[Run, ...]
    rest: tuple[Run, ...]
    role: Role = "t1"

    def inner(self, first: Sequence[Run], rest: Sequence[Run]) -> "Place":
        """The place inside this one, behind a marker."""
        return replace(self, first=(*self.first, *first), rest=(*self.rest, *rest))

    def later(self) -> "Place":
        """The same place after its first row is taken."""
        return replace(self, first=self.rest)


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of source lines; `starts` are their offsets in the source."""

    lines: Sequence[str]
    starts: Sequence[int]


def render_piece(piece: Piece, place: Place, look: Look) -> list[Row]:
    """All rows of one piece of Markdown."""
    return _Renderer(piece, look).blocks(parser().parse("\n".join(piece.lines)), place)


def code_rows(
    lines: Sequence[str], starts: Sequence[int], language: str, place: Place, look: Look
) -> list[Row]:
    """Rows of one colouring group of code: on `sunk`, over the full width, continuations indented by 2."""
    style = code_style(look.palette, "sunk")
    ground = look.s("t1", "sunk")
    rows: list[Row] = []
    used = width_of(place.rest)
    room = max(look.right - used - 2 * CODE_PAD, 1)
    pad, deeper = Run(" " * CODE_PAD, ground), Run(" " * (CODE_PAD + 2), ground)
    for index, line in enumerate(tokens(lines, lexer_for(language) if language else None)):
        ahead = place.first if index == 0 else place.rest
        runs = coloured(line, style, starts[index])
        parts = wrap(runs, room, rest_room=room - 2, words=True)
        for number, part in enumerate(parts):
            shown = [*(ahead if number == 0 else place.rest), deeper if number else pad, *part]
            shown.append(Run(" " * max(look.right - width_of(shown), 0), ground))
            rows.append(Row(shown, look.ground, joined=number > 0))
    return rows


class _Renderer:
    """Walks the tokens of one piece."""

    def __init__(self, piece: Piece, look: Look) -> None:
        self._piece = piece
        self._look = look

    def blocks(self, found: Sequence["Token"], place: Place) -> list[Row]:
        rows: list[Row] = []
        index, last_line = 0, -1
        while index < len(found):
            token = found[index]
            end = _closing(found, index)
            span = token.map or [last_line, last_line]
            made = self._block(found[index : end + 1], place)
            if made:
                if rows and self._apart(token, span[0], last_line):
                    rows.append(Row([*place.rest], self._look.ground))
                rows.extend(made)
                last_line = self._last_line(span)
                place = place.later()
            index = end + 1
        return rows

    def _apart(self, token: "Token", first_line: int, last_line: int) -> bool:
        return first_line > last_line + 1 or token.type == "heading_open"

    def _last_line(self, span: Sequence[int]) -> int:
        """The last line of a block that is not blank (lists count the blank lines behind them)."""
        line = span[1] - 1
        while line > span[0] and not self._piece.lines[line].strip(" \t>"):
            line -= 1
        return line

    def _block(self, found: Sequence["Token"], place: Place) -> list[Row]:
        token = found[0]
        match token.type:
            case "paragraph_open":
                return self._prose(found[1], place, bold=False)
            case "heading_open":
                return self._prose(found[1], place, bold=True)
            case "bullet_list_open" | "ordered_list_open":
                return self._list(found[1:-1], place)
            case "blockquote_open":
                rail = [Run(self._look.symbols.rail + " ", self._look.s("border-strong"))]
                return self.blocks(found[1:-1], replace(place, role="t2").inner(rail, rail))
            case "fence" | "code_block":
                return self._code(token, place)
            case "hr":
                room = min(self._look.text, self._look.right - width_of(place.first))
                line = self._look.symbols.rule * max(room, 1)
                return [
                    Row(
                        [*place.first, Run(line, self._look.s("border"), self._start(token))],
                        self._look.ground,
                    )
                ]
            case "table_open":
                return self._table(found, place)
            case _:
                return []

    def _prose(self, token: "Token", place: Place, *, bold: bool) -> list[Row]:
        inline = Inline(self._look, place.role, bold=bold)
        room = max(min(self._look.text, self._look.full) - (width_of(place.rest) - 4), 1)
        rows: list[Row] = []
        for line in inline.lines(token, self._locator(token)):
            runs = [run._replace(text=expand_tabs(run.text)) if "\t" in run.text else run for run in line]
            ahead = place.first if not rows else place.rest
            rows.extend(frame(wrap(runs, room), self._look.ground, ahead, place.rest))
        return rows

    def _list(self, items: Sequence["Token"], place: Place) -> list[Row]:
        rows: list[Row] = []
        index = 0
        while index < len(items):
            end = _closing(items, index)
            item, inside = items[index], items[index + 1 : end]
            marker = self._marker(item, inside)
            blank = [Run(" " * width_of(marker), self._look.ground)]
            made = self.blocks(inside, place.inner(marker, blank))
            rows.extend(made or [Row([*place.first, *marker], self._look.ground)])
            place = place.later()
            index = end + 1
        return rows

    def _marker(self, item: "Token", inside: Sequence["Token"]) -> list[Run]:
        look, src = self._look, self._start(item)
        task = _task(inside)
        if task:
            role: Role = "success" if task == "x" else "t2"
            shown = look.symbols.todo_done if task == "x" else look.symbols.todo_open
            return [Run(shown, look.s(role), src), Run(" ", look.ground)]
        if item.info:
            return [Run(f"{item.info}{item.markup}", look.s("t2"), src), Run(" ", look.ground)]
        return [Run(look.symbols.bullet, look.s("accent"), src), Run(" ", look.ground)]

    def _code(self, token: "Token", place: Place) -> list[Row]:
        lines = token.content.split("\n")[: -1 if token.content.endswith("\n") else None]
        at = (token.map or [0, 0])[0] + (1 if token.type == "fence" else 0)
        starts = [self._find(at + number, line) for number, line in enumerate(lines)]
        language = token.info.split()[0] if token.info.split() else ""
        rows: list[Row] = []
        for start, end in groups(lines, language):
            rows.extend(code_rows(lines[start:end], starts[start:end], language, place, self._look))
            place = place.later()
        return rows or code_rows([""], [self._start(token)], "", place, self._look)

    def _table(self, found: Sequence["Token"], place: Place) -> list[Row]:
        table: list[list[Cell]] = []
        align = ""
        for index, token in enumerate(found):
            if token.type == "tr_open":
                table.append([])
            elif token.type in ("th_open", "td_open"):
                inline = found[index + 1]
                line = (token.map or found[0].map or [0])[0] + (0 if token.map else len(table) - 1)
                cells = Inline(self._look, place.role).lines(inline, self._cell_locator(inline, line))
                table[-1].append([run for part in cells for run in part])
                if token.type == "th_open":
                    align += _alignment(str(token.attrGet("style") or ""))
        if not table:
            return []
        table[0] = header_style(table[0], self._look)
        widths = column_widths(table, len(table[0]), self._look.right - width_of(place.rest))
        return table_rows(table, widths, align, place.rest, self._look)

    def _locator(self, token: "Token") -> Callable[[int], int]:
        first = (token.map or [0, 0])[0]
        bounds: list[tuple[int, int]] = []
        at = 0
        for number, line in enumerate(token.content.split("\n")):
            bounds.append((at, self._find(first + number, line)))
            at += len(line) + 1
        if len(bounds) == 1:
            origin = bounds[0][1]
            return lambda offset: origin + offset

        def locate(offset: int) -> int:
            for start, src in reversed(bounds):
                if offset >= start:
                    return src + offset - start
            return bounds[0][1]

        return locate

    def _cell_locator(self, token: "Token", line: int) -> Callable[[int], int]:
        origin = self._find(line, token.content)
        return lambda offset: origin + offset

    def _find(self, line: int, text: str) -> int:
        """The source offset of a text on a line of the piece (the line's start where it was rewritten)."""
        if not 0 <= line < len(self._piece.lines):
            return DECOR
        found = self._piece.lines[line].find(text)
        return self._piece.starts[line] + max(found, 0)

    def _start(self, token: "Token") -> int:
        line = (token.map or [0, 0])[0]
        source = self._piece.lines[line] if line < len(self._piece.lines) else ""
        return self._piece.starts[line] + len(source) - len(source.lstrip()) if source else DECOR


def _closing(found: Sequence["Token"], index: int) -> int:
    """The index of the token that closes the one at `index`."""
    depth = 0
    for at in range(index, len(found)):
        depth += found[at].nesting
        if depth <= 0:
            return at
    return len(found) - 1


def _task(inside: Sequence["Token"]) -> str:
    """`x` or `o` for a task item, whose mark is taken off its text; else an empty string."""
    if len(inside) < 2 or inside[1].type != "inline" or not inside[1].children:
        return ""
    first = inside[1].children[0]
    mark = first.content[:4].lower()
    if first.type != "text" or mark not in ("[ ] ", "[x] "):
        return ""
    first.content = first.content[4:]
    return "x" if mark == "[x] " else "o"


def _alignment(style: str) -> str:
    return "r" if "right" in style else "c" if "center" in style else "l"
