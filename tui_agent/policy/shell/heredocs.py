"""L3: here-documents and here-strings, where the grammar knows less of them than bash does.

Invariant: pure; an end that is not plain letters, quoted as a whole or not at all, is not certain.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui_agent.policy.shell.script import Redirect, Word

if TYPE_CHECKING:
    from tree_sitter import Node

_BEHIND_WORD = (b" ", b"\t", b"\n", b";", b"|", b"&", b")", b"<", b">")


def certain_end(node: "Node", raw: bytes) -> bool:
    """Whether the text of a here-document ends for bash where the grammar says that it does."""
    begin = next((child for child in node.children if child.type == "heredoc_start"), None)
    end = next((child for child in node.children if child.type == "heredoc_end"), None)
    if begin is None or end is None:
        return False
    start = raw[begin.start_byte : begin.end_byte].decode("utf-8", "replace")
    word = start[1:-1] if start[:1] in ("'", '"') and start[-1:] == start[:1] else start.removeprefix("\\")
    plain = word.isascii() and word.replace("_", "a").replace("-", "a").replace(".", "a").isalnum()
    closed = raw[end.start_byte : end.end_byte].strip(b"\t") == word.encode()
    return (
        plain
        and closed
        and raw[begin.end_byte : begin.end_byte + 1] in _BEHIND_WORD
        and raw[end.end_byte : end.end_byte + 1] in (b"", b"\n")
    )


def expands(start: str) -> bool:
    """Whether bash expands the text: not where any part of the word behind `<<` is quoted."""
    return not any(char in start for char in "'\"\\")


def heredoc_text(node: "Node", start: str, text: "Callable[[Node], str]") -> Word:
    """What a command reads of it, where bash changes nothing in it."""
    body = next((text(child) for child in node.children if child.type == "heredoc_body"), "")
    plain = not expands(start) or not any(char in body for char in "$`\\")
    return Word(start, (body,) if plain else None)


def dash_before(raw: bytes, begin: int) -> list[Word]:
    """The word `-` in front of a here-document, where it stands there: the grammar passes over it."""
    return [Word("-", ("-",))] if raw[max(begin - 3, 0) : begin] in (b" - ", b"\t- ") else []


_BEHIND = re.compile(
    r"""([^'"\\`$#(\n]*?[^<>&|;\s]\s+)(>>?\s*[\w./@%+,-]+)\s+(<<<\s*(?:'[^']*'|"[^"\\`$]*"|[\w./@%+,-]+))(?=\s|$|[;&|)])"""
)


def mended(script: str) -> str:
    """`cat > f <<< x` as `cat <<< x > f`, which is the same for bash and known to the grammar; empty where it is neither."""
    found = _BEHIND.match(script)
    return f"{found[1]}{found[3]} {found[2]}{script[found.end() :]}" if found else ""


def given(node: "Node", words: Sequence[Word], text: "Callable[[Node], str]") -> list[Redirect]:
    """The text that a redirection gives a command to read on its standard input; no words: a descriptor, nobody knows."""
    number = next((text(child) for child in node.children if child.type == "file_descriptor"), "0")
    return [Redirect(words[0] if words else Word("", None), reads=True, text=True)] if number == "0" else []


def backquoted(text: str) -> list[str]:
    """The scripts between backquotes of a text that bash expands; the last may lack its end."""
    pieces = [""]
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            following = text[at + 1]
            inside = len(pieces) % 2 == 0
            pieces[-1] += following if inside and following in "`$\\" else char + following
            at += 2
            continue
        if char == "`":
            pieces.append("")
        else:
            pieces[-1] += char
        at += 1
    return pieces[1::2]
