"""L3: which nodes of a script's tree were read, and what bash runs in texts that the grammar takes for letters.

Invariant: pure. A node that can hold a command, a redirection or an expansion and was not read is found, whatever holds it;
so is a sign of a substitution in a leaf, where it is not certain that it stands for itself.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_INNER = 8
"""Expansions inside one text of an expansion that are read."""
_HOLDING = frozenset(
    {"command", "command_substitution", "process_substitution", "file_redirect", "heredoc_redirect", "herestring_redirect",
     "expansion", "simple_expansion", "arithmetic_expansion", "subscript", "variable_assignment", "declaration_command",
     "unset_command", "test_command", "function_definition", "array"}
)  # fmt: skip
_LITERAL = frozenset(
    {"raw_string", "ansi_c_string", "comment", "heredoc_start", "heredoc_end", "heredoc_body"}
)
"""Leaves in which every sign stands for itself; what an expanded here-document holds is `runs_in_text`."""
_IN_QUOTES = frozenset({"string_content", "heredoc_content"})
"""Leaves in which only `$` and a backquote have a meaning."""
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_PLAIN = re.compile(r"\$\{[A-Za-z_]\w*\}", re.ASCII)
_SIGNS = re.compile(r"`|\$[({\[]")
_OPENED = re.compile(r"[<>]\(")
_CLOSED = re.compile(r"""'[^']*'|"[^"]*\"""", re.DOTALL)


def unread(root: "Node", seen: set[int]) -> "Iterator[Node]":
    """Nodes that can hold what runs and that nobody has read, and leaves in which something may run."""
    cursor = root.walk()
    while True:
        node = cursor.node
        assert node is not None
        if (node.type in _HOLDING and node.id not in seen) or (not node.child_count and _hides(node)):
            yield node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _hides(leaf: "Node") -> bool:
    if not leaf.is_named or leaf.type in _LITERAL:
        return False
    text = (leaf.text or b"").decode("utf-8", "replace")
    return hides(text, quoted=leaf.type in _IN_QUOTES) or _open(leaf, text)


def _open(leaf: "Node", text: str) -> bool:
    """Whether a text of an expansion ends for bash elsewhere than where it does for the grammar."""
    if leaf.parent is None or leaf.parent.type != "expansion":
        return False
    bare = _CLOSED.sub("", _ESCAPED.sub("", text))
    behind = leaf.next_sibling
    last = behind is not None and behind.type == "}"
    return "'" in bare or '"' in bare or (last and "\\" in bare)


def hides(text: str, *, quoted: bool) -> bool:
    """Whether a text that the grammar has not parted holds the sign of something that bash runs or opens."""
    bare = _PLAIN.sub("", _ESCAPED.sub("", text))
    return bool(_SIGNS.search(bare)) or (not quoted and bool(_OPENED.search(bare)))


def as_line(text: str) -> str:
    """A line that expands the same as a text which the grammar has not parted; empty where there is none."""
    bare = _ESCAPED.sub("", text)
    certain = (
        '"' not in bare and "\\" not in bare and not _OPENED.search(bare) and bare.count("${") <= MAX_INNER
    )
    return f': "{text}"' if certain else ""
