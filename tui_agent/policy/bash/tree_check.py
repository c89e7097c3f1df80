"""The check of our bash parser against tree-sitter's grammar.

Invariant: both parsers must see the same simple commands; any difference in their words is a disagreement.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

from tui_agent.policy.bash.syntax import Refusal, Script, SimpleCommand

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

Span: TypeAlias = tuple[int, int]
"""(start, end) of a word in the script, in characters."""
_SeenWord: TypeAlias = tuple[Span, bool]
"""(span of a word, True for the first word of a command)."""

_QUERY = """
[(command) (declaration_command) (unset_command) (test_command)] @command
(file_redirect) @redirect
"""
_CHUNK_BYTES: Final = 256
_MAX_CHUNKS: Final = 20_000
"""Maximum number of chunks of text that tree-sitter may read. This many chunks take some tenths of a second."""
# After a syntax error, tree-sitter reads all later chunks again and again.
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_DASH_BEFORE_BODY = re.compile(r"-[ \t]+<<")
_NO_WORDS = frozenset(("variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect"))


def disagreement(text: str, script: Script) -> Refusal | None:
    """Return a refusal if tree-sitter finds other commands in `text` than our parser did. Otherwise return None.

    `script`: the result of our parser.
    """
    root = parse_tree(text)
    if root is None or root.has_error:
        return Refusal("a second parser does not accept it", 0)
    ours: set[_SeenWord] = set()
    for command in simple_commands(script):
        spans = [(word.start, word.start + len(word.source)) for word in command.words]
        is_test = bool(spans) and command.words[0].source in ("[", "[[")
        ours |= _seen_words(spans, is_test=is_test)
    theirs = _tree_words(root)
    unseen = {word for word in ours - theirs if word[1] or not _is_overlooked(text, word[0])}
    differing = unseen | (theirs - ours)
    if differing:
        return Refusal("a second parser finds different commands or words", min(differing)[0][0])
    return None


def _seen_words(spans: Sequence[Span], *, is_test: bool) -> "set[_SeenWord]":
    """Return a command's words for comparison. In a test (`[ … ]`), the words after `[` are compared as one word."""
    if is_test:
        spans = [spans[0], (spans[0][1], spans[-1][1])]
    return {(span, span == spans[0]) for span in spans}


def _is_overlooked(text: str, span: Span) -> bool:
    """Return True if tree-sitter's tree lacks the word at `span`.

    The tree always lacks a `-` before a here-document.
    """
    # Tree-sitter's grammar has no node for this word.
    return span[1] - span[0] == 1 and _DASH_BEFORE_BODY.match(text, span[0]) is not None


def simple_commands(tree: object) -> Iterator[SimpleCommand]:
    """Yield every simple command of a script, including commands in substitutions, in unspecified order."""
    if isinstance(tree, SimpleCommand):
        yield tree
    names = getattr(tree, "__slots__", ())
    parts = tree if isinstance(tree, tuple) else [getattr(tree, name) for name in names]
    for part in parts:
        yield from simple_commands(part)


@lru_cache(maxsize=8)
def parse_tree(text: str) -> "Node | None":
    """Parse a script with tree-sitter; return None if the parse takes too long."""
    # Tree-sitter counts bytes. With one byte for each character, its positions are also those of the text.
    source = _FOREIGN.sub("Z", text).encode()
    chunks = count()
    tree = _grammar()[0].parse(
        lambda start, _: source[start : start + _CHUNK_BYTES] if next(chunks) < _MAX_CHUNKS else b""
    )
    return tree.root_node if next(chunks) <= _MAX_CHUNKS else None


def _tree_words(root: "Node") -> "set[_SeenWord]":
    nodes = _captures(root)
    words: set[_SeenWord] = set()
    for node in nodes.get("command", ()):
        words |= _seen_words(_word_spans(node), is_test=node.type == "test_command")
    for node in nodes.get("redirect", ()):
        # The grammar treats words after a redirection's file as a part of the redirection.
        words |= {(span, False) for span in _join_spans(node.children_by_field_name("destination"))[1:]}
    return words


def command_spans(text: str) -> list[list[Span]] | None:
    """Return the word spans of each simple command in text order, or None if the parse takes too long."""
    root = parse_tree(text)
    return None if root is None else sorted(map(_word_spans, _captures(root).get("command", ())))


def _captures(root: "Node") -> "dict[str, list[Node]]":
    from tree_sitter import QueryCursor  # noqa: PLC0415 - slow: only a session that runs a script needs it

    return QueryCursor(_grammar()[1]).captures(root)


def _word_spans(node: "Node") -> list[Span]:
    no_words = () if node.type == "declaration_command" else _NO_WORDS
    return _join_spans(child for child in node.children if child.type not in no_words)


def _join_spans(nodes: "Iterator[Node] | list[Node]") -> list[Span]:
    spans: list[Span] = []
    for node in nodes:
        start, end = node.start_byte, node.end_byte
        if spans and spans[-1][1] == start:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


@cache
def _grammar() -> "tuple[Parser, Query]":
    import tree_sitter_bash  # noqa: PLC0415 - slow: only a session that runs a script needs it
    from tree_sitter import Language, Parser, Query  # noqa: PLC0415

    language = Language(tree_sitter_bash.language())
    return Parser(language), Query(language, _QUERY)
