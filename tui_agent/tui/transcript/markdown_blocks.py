"""Splitting of Markdown into pieces (paragraphs, list items, fences and so on), line by line.

Invariant: later lines never change where a piece ends, so a streamed text has the same rows as a complete text.
"""

import re
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["para", "item", "fence", "table", "heading", "rule", "quote", "indented"]

PARAGRAPH_LIMIT: Final = 4_096
"""Maximum length of a paragraph, in characters. A longer one is split, because each update redraws the last piece."""

_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+)([^`]*)$")
_INDENTED = re.compile(r"    |\t")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_ITEM = re.compile(r"( {0,3})([-+*]|\d{1,9}[.)])(?:([ \t]+)(\S)|[ \t]*$)")
_QUOTE = re.compile(r" {0,3}>")
_STARTS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("indented", _INDENTED),
    ("heading", _HEADING),
    ("rule", _RULE),
    ("quote", _QUOTE),
)
_DELIMITER = re.compile(r" {0,3}\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*$")
_PIPE = re.compile(r"(?<!\\)\|")


@dataclass(slots=True)
class OpenPiece:
    """The last piece of a Markdown text, which grows with each added line.

    `blank_before`: True if an empty line comes before the piece.
    """

    kind: Kind
    blank_before: bool
    lines: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    marker: str = ""
    """The opening marks of a fence, or the kind of a list item."""
    language: str = ""
    indent: int = 0
    """The first column of a list item's content, or the indent of a fence."""
    blanks: int = 0
    """Number of empty lines at the end."""
    size: int = 0
    """Length of all lines, in characters."""

    @property
    def family(self) -> str:
        """The kind of a list item; empty for other pieces."""
        return self.marker if self.kind == "item" else ""

    def add(self, line: str, start: int) -> None:
        self.lines.append(line)
        self.starts.append(start)
        self.size += len(line) + 1
        self.blanks = 0 if line.strip() else self.blanks + 1


def open_piece(line: str, blank_before: bool) -> OpenPiece:
    """Return the piece that begins with `line`. The line must not be empty."""
    if fence := _FENCE.match(line):
        indent = len(line) - len(line.lstrip(" "))
        language = next(iter(fence[2].split()), "")
        return OpenPiece("fence", blank_before, marker=fence[1], language=language, indent=indent)
    for kind, pattern in _STARTS:
        if pattern.match(line):
            return OpenPiece(kind, blank_before)
    if item := _ITEM.match(line):
        return OpenPiece("item", blank_before, marker=_family(item[2]), indent=_content_column(item))
    return OpenPiece("para", blank_before)


def continues(piece: OpenPiece, line: str) -> bool:
    """Return True if a line can belong to the open piece."""
    blank = not line.strip()
    match piece.kind:
        case "fence":
            return True
        case "heading" | "rule":
            return False
        case "indented":
            return blank or bool(_INDENTED.match(line))
        case "item":
            return _continues_item(piece, line, blank)
        case "table":
            return not blank and not interrupts(line)
        case "quote":
            return not blank and (bool(_QUOTE.match(line)) or not interrupts(line))
        case "para":
            return not blank and (bool(_UNDERLINE.match(line)) or not interrupts(line))


def ends_with(piece: OpenPiece, line: str) -> bool:
    """Return True if the newly added line ends the piece."""
    if piece.kind == "fence":
        return len(piece.lines) > 1 and closes_fence(piece, line)
    if piece.kind == "para":
        return bool(_UNDERLINE.match(line)) and len(piece.lines) > 1
    return piece.kind in ("heading", "rule")


def closes_fence(piece: OpenPiece, line: str) -> bool:
    """Return True if the line consists of at least as many marks as the fence's opening line."""
    bare = line.strip()
    near = len(line) - len(line.lstrip(" ")) <= 3
    return near and len(bare) >= len(piece.marker) and not bare.strip(piece.marker[0])


def may_close_fence(piece: OpenPiece, line: str) -> bool:
    """Return True if an incomplete line can become the closing line of a fence."""
    bare = line.strip()
    return bool(bare) and not bare.strip(piece.marker[0])


def starts_table(piece: OpenPiece, line: str) -> bool:
    """Return True if `line` is a table's delimiter row (`|---|---|`) and `piece` ends with the table's header."""
    if piece.kind != "para" or "|" not in line + piece.lines[-1] or not _DELIMITER.match(line):
        return False
    return len(split_cells(line)) == len(split_cells(piece.lines[-1]))


def split_cells(line: str) -> list[tuple[str, int]]:
    """Return (stripped text, offset in the line) for each cell of a table line."""
    cells: list[tuple[str, int]] = []
    start = len(line) - len(line.lstrip())
    end = len(line.rstrip())
    if line[start : start + 1] == "|":
        start += 1
    if end > start and line[end - 1] == "|" and line[end - 2 : end - 1] != "\\":
        end -= 1
    bounds = [match.start() for match in _PIPE.finditer(line, start, end)]
    for low, high in zip([start, *(bound + 1 for bound in bounds)], [*bounds, end], strict=True):
        raw = line[low:high]
        cells.append((raw.strip(), low + len(raw) - len(raw.lstrip())))
    return cells


def alignments(line: str) -> str:
    """Return `l`, `r` or `c` for each column in the delimiter row of a table, e.g. `lr` for `|---|--:|`."""
    return "".join(
        "c" if cell.startswith(":") and cell.endswith(":") else "r" if cell.endswith(":") else "l"
        for cell, _ in split_cells(line)
    )


def interrupts(line: str) -> bool:
    """Return True if a line ends a paragraph and begins a new block, even without an empty line between."""
    if _FENCE.match(line) or _HEADING.match(line) or _RULE.match(line) or _QUOTE.match(line):
        return True
    # As in CommonMark, a numbered item must begin with 1: a line of prose can begin with any other number.
    item = _ITEM.match(line)
    return item is not None and item[4] is not None and (not item[2][0].isdigit() or item[2][:-1] == "1")


def _continues_item(piece: OpenPiece, line: str, blank: bool) -> bool:
    if blank:
        # An empty line after a bare list marker ends the item.
        return not (len(piece.lines) == 1 and _ITEM.fullmatch(piece.lines[0].rstrip()) is not None)
    indent = _indent(line)
    if indent >= piece.indent:
        return True
    if piece.blanks:
        return False
    return _ITEM.match(line) is None and not interrupts(line)


def _family(marker: str) -> str:
    return marker if marker in "-+*" else marker[-1]


def _content_column(item: re.Match[str]) -> int:
    spaces = len((item[3] or " ").expandtabs(4))
    return len(item[1]) + len(item[2]) + (spaces if 1 <= spaces <= 4 else 1)


def _indent(line: str) -> int:
    bare = line.lstrip(" \t")
    return len(line[: len(line) - len(bare)].expandtabs(4))
