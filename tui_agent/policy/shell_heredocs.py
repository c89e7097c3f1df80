"""L3: here-documents, where the grammar knows less of them than bash does.

Invariant: pure; an end that is not plain letters, quoted as a whole or not at all, is not certain.
"""

from typing import TYPE_CHECKING

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
