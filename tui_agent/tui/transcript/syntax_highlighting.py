"""Source code as styled pieces of text (runs), coloured with the theme's five colour roles for code.

Invariant: the same lines always have the same colours, whether they are streamed or complete.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final, Protocol, TypeAlias

from rich.style import Style

from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.styled_rows import TextRun
from tui_agent.tui.untrusted_text import width

Token: TypeAlias = tuple[str, Role]

MIN_GROUP_LINES: Final = 24
MAX_GROUP_LINES: Final = 120
"""Limits for the size of a group: lines of code that are coloured together, independently of other groups."""
_MAX_COLOURED_LINE_CHARS: Final = 2_000
"""If a line is longer than this, in characters, no line of its group is coloured."""

_PREFIXES: Final[tuple[tuple[str, Role], ...]] = (
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Comment", "comment"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Literal", "string"),
    ("Token.Name.Function", "function"),
    ("Token.Name.Class", "function"),
    ("Token.Name.Decorator", "function"),
    ("Token.Generic.Inserted", "success"),
    ("Token.Generic.Deleted", "error"),
    ("Token.Generic.Heading", "keyword"),
    ("Token.Generic.Prompt", "comment"),
)


class Lexer(Protocol):
    """A lexer of Pygments for one language."""

    def __hash__(self) -> int: ...

    def get_tokens(self, text: str) -> Iterable[tuple[object, str]]: ...


@lru_cache(maxsize=64)
def lexer_for(language: str, path: str = "") -> Lexer | None:
    """Return the lexer for a language or a file name; None if Pygments has no such lexer."""
    from pygments.lexers import (  # type: ignore[import-untyped]  # noqa: PLC0415 - slow, after first paint
        get_lexer_by_name,
        get_lexer_for_filename,
    )
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # noqa: PLC0415

    lexer: Lexer | None = None
    with suppress(ClassNotFound):
        if language:
            lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
        elif path:
            lexer = get_lexer_for_filename(path.rsplit("/", 1)[-1], stripnl=False, ensurenl=False)
    return lexer


def tokens(lines: Sequence[str], lexer: Lexer | None) -> list[list[Token]]:
    """Return the tokens of each line; all lines are lexed together as one piece of code."""
    if lexer is None or any(len(line) > _MAX_COLOURED_LINE_CHARS for line in lines):
        return [[(line, "t1")] if line else [] for line in lines]
    token_lines: list[list[Token]] = [[]]
    pieces = _lex("\n".join(lines), lexer)
    for index, (kind, value) in enumerate(pieces):
        role = _role(kind)
        if role == "t1" and index + 1 < len(pieces) and pieces[index + 1][1].startswith("("):
            role = "function" if _is_name(kind) else role
        for number, part in enumerate(value.split("\n")):
            if number:
                token_lines.append([])
            line = token_lines[-1]
            if part and line and line[-1][1] == role:
                line[-1] = (line[-1][0] + part, role)
            elif part:
                line.append((part, role))
    # A lexer can add or drop line feeds at the end, but each line needs its tokens.
    del token_lines[len(lines) :]
    token_lines.extend([] for _ in range(len(lines) - len(token_lines)))
    return token_lines


def color_tokens(line: Sequence[Token], style: Callable[[Role], Style], src: int) -> list[TextRun]:
    """Convert a line of code to coloured pieces, with tabs expanded.

    `src`: the offset of the line in the source.
    """
    runs: list[TextRun] = []
    column = 0
    for text, role in line:
        for piece in split_tabs(text):
            shown = " " * (4 - column % 4) if piece == "\t" else piece
            column += width(shown)
            runs.append(TextRun(shown, style(role), src))
            if src >= 0:
                src += len(piece)
    return runs


def group_ends(lines: Sequence[str], language: str) -> bool:
    """Return True if this group of code lines is complete. Its colours are then final.

    A group ends at an empty line outside strings and comments, or after `MAX_GROUP_LINES` lines.
    """
    if len(lines) >= MAX_GROUP_LINES:
        return True
    if len(lines) < MIN_GROUP_LINES or lines[-1].strip():
        return False
    lexer = lexer_for(language) if language else None
    pieces = _lex("\n".join(lines), lexer) if lexer is not None else ()
    unfinished = ("Token.Literal.String", "Token.Comment.Multiline")
    return not pieces or not str(pieces[-1][0]).startswith(unfinished)


def groups(lines: Sequence[str], language: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) bounds of each group of lines that is highlighted as a whole."""
    start = 0
    for end in range(1, len(lines) + 1):
        if group_ends(lines[start:end], language):
            yield start, end
            start = end
    if start < len(lines):
        yield start, len(lines)


def split_tabs(text: str) -> Iterator[str]:
    """Yield the parts of a text, with each tab as a separate part."""
    for number, piece in enumerate(text.split("\t")):
        if number:
            yield "\t"
        if piece:
            yield piece


@lru_cache(maxsize=4)
def _lex(text: str, lexer: Lexer) -> tuple[tuple[object, str], ...]:
    """Return Pygments' tokens of a text."""
    # Cached, because `group_ends` and `tokens` need the tokens of the same text one after the other.
    return tuple(lexer.get_tokens(text))


@lru_cache(maxsize=512)
def _role(kind: object) -> Role:
    name = str(kind)
    for prefix, role in _PREFIXES:
        if name.startswith(prefix):
            return role
    return "t1"


@lru_cache(maxsize=512)
def _is_name(kind: object) -> bool:
    return str(kind).startswith("Token.Name")
