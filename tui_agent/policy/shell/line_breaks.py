"""L3: line breaks that bash and the grammar read differently.

The grammar takes a line break in front of a backslash, and one behind `==` or `=~`, for a blank: it reads the command on the next
line as arguments of the one before. Invariant: pure; in doubt the reading is refused.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_TEXTS = frozenset({"string", "raw_string", "ansi_c_string", "heredoc_body", "comment", "\n"})
"""Tokens in which a line break is a letter like any other, or ends a command."""
_SIMPLE = frozenset(
    {
        "command",
        "command_name",
        "declaration_command",
        "unset_command",
        "redirected_statement",
        "file_redirect",
        "herestring_redirect",
        "heredoc_redirect",
        "variable_assignment",
        "concatenation",
    }
)
"""Nodes that lie on one line for bash, but for the here-documents below them."""
_BELOW_THE_LINE = frozenset({"heredoc_redirect", "heredoc_body", "heredoc_end"})
_CONTINUED = re.compile(rb"[ \t]*\\\n[ \t]*")
_BARE_BREAK = re.compile(rb"(?<!\\)(?:\\\\)*\n")
_BACKSLASH_LINE = re.compile(rb"\n[ \t]*\\")
_CONTINUATION = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
_MOST_LINES = 200


def joins_lines(root: "Node", raw: bytes) -> bool:
    """Return True if a command of the tree goes on over a line break that ends it for bash, or a line begins with a backslash."""
    stack = [(root, False)]
    while stack:
        node, in_test = stack.pop()
        if node.type in _TEXTS:
            stack += [(child, False) for child in node.named_children]
            continue
        if not node.child_count and _BARE_BREAK.search(raw, node.start_byte, node.end_byte):
            return True
        in_test = (in_test and node.type.endswith("_expression")) or _is_bracket(node)
        one_line = in_test or node.type in _SIMPLE
        for gap, child in _gaps(node, raw):
            begins = child.type not in _TEXTS and raw[child.start_byte : child.start_byte + 1] == b"\\"
            if _BACKSLASH_LINE.search(gap) or (begins and _BARE_BREAK.search(gap)):
                return True
            if (
                one_line
                and b"\n" in gap
                and child.type not in _BELOW_THE_LINE
                and not _is_continued(gap, raw, child)
            ):
                return True
        stack += [(child, in_test) for child in node.children]
    return bool(
        _BACKSLASH_LINE.search(raw[: root.start_byte]) or _BACKSLASH_LINE.search(raw[root.end_byte :])
    )


def command_lines(script: str) -> Iterator[str]:
    """The lines of a script as a shell begins a command with each, at most 200, without backslashes in front."""
    whole = _CONTINUATION.sub(r"\1", script)
    for line in whole.split("\n")[:_MOST_LINES]:
        if text := line.strip(" \t\\"):
            yield text


def _is_bracket(node: "Node") -> bool:
    return node.type == "test_command" and bool(node.children) and node.children[0].type == "["


def _gaps(node: "Node", raw: bytes) -> "Iterator[tuple[bytes, Node]]":
    """What lies in front of each child but the first."""
    for before, child in zip(node.children, node.children[1:], strict=False):
        yield raw[before.end_byte : child.start_byte], child


def _is_continued(gap: bytes, raw: bytes, child: "Node") -> bool:
    """Return True if the line break in a gap is one that a backslash takes away."""
    if not _CONTINUED.fullmatch(gap):
        return False
    before = raw[: raw.rindex(b"\n", 0, child.start_byte)]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1
