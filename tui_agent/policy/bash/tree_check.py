"""L3: the second opinion on a script that was read: tree-sitter's grammar must see the same simple commands.

Invariant: pure; a difference in the number of commands, or in one word's offsets, is a disagreement.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from tui_agent.policy.bash.syntax import (
    Command,
    Conditional,
    ForLoop,
    Group,
    ProcessOutput,
    Refusal,
    Script,
    SimpleCommand,
    Substitution,
    WhileLoop,
    Word,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

Span: TypeAlias = tuple[int, int]
"""Offsets in characters of a word's first character and behind its last one."""

_QUERY = """
[(command) (declaration_command) (unset_command) (test_command)] @command
(file_redirect) @redirect
"""
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_DASH_BEFORE_BODY = re.compile(r"-[ \t]+<<")
_NO_WORDS = frozenset(("variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect"))


def disagreement(text: str, script: Script) -> Refusal | None:
    """Compare `script`, our reading of `text`, with tree-sitter's. None where both see the same commands."""
    root = parse_tree(text)
    if root.has_error:
        return Refusal("a second reader does not understand it", 0)
    commands, strays = _tree_commands(root)
    for command in simple_commands(script):
        if not command.words:
            continue
        spans = [(word.start, word.start + len(word.source)) for word in command.words]
        seen = commands.pop(spans[0], None)
        if command.words[0].source in ("[", "[["):
            spans = [spans[0], (spans[0][1], spans[-1][1])]
        missing = {span for span in spans if span not in (seen or ()) and not _is_overlooked(text, span)}
        if seen is None or not seen.issubset(spans) or not missing <= strays:
            return Refusal("a second reader sees other words in a command", command.start)
        strays -= missing
    left = min([*commands, *strays], default=None)
    return Refusal("a second reader sees another command", left[0]) if left is not None else None


def _is_overlooked(text: str, span: Span) -> bool:
    """Return True for the word `-` in front of a here-document, which the grammar has no node for."""
    return span[1] - span[0] == 1 and _DASH_BEFORE_BODY.match(text, span[0]) is not None


def simple_commands(script: Script) -> Iterator[SimpleCommand]:
    """Return every simple command of a script, those in substitutions too, in no certain order."""
    for item in script.items:
        for command in item.pipeline.commands:
            yield from _commands_below(command)


def _commands_below(command: Command) -> Iterator[SimpleCommand]:
    scripts: tuple[Script, ...] = ()
    words: tuple[Word, ...] = ()
    match command:
        case SimpleCommand():
            yield command
            words = (*command.words, *(assignment.value for assignment in command.assignments))
        case ForLoop():
            scripts, words = (command.body,), command.items
        case WhileLoop():
            scripts = (command.condition, command.body)
        case Group():
            scripts = (command.script,)
        case Conditional():
            scripts = tuple(script for branch in command.branches for script in branch)
            scripts += (command.otherwise,) if command.otherwise is not None else ()
    words += tuple(
        word
        for redirect in command.redirects
        for word in (redirect.target, redirect.body)
        if word is not None
    )
    for word in words:
        scripts += tuple(
            piece.script for piece in word.pieces if isinstance(piece, Substitution | ProcessOutput)
        )
    for script in scripts:
        yield from simple_commands(script)


def parse_tree(text: str) -> "Node":
    """Parse a text with tree-sitter. Offsets of its nodes are characters: what is not ASCII is shown to it as a letter,
    as bash reads it, since the grammar's scanner can crash on other bytes."""
    return _grammar()[0].parse(_FOREIGN.sub("Z", text).encode()).root_node


def _tree_commands(root: "Node") -> tuple[dict[Span, set[Span]], set[Span]]:
    """Return the spans of the words of each command by that of its first, and those of words behind a redirection, which
    the grammar counts to the redirection."""
    commands: dict[Span, set[Span]] = {}
    found = _captures(root)
    for node in found.get("command", ()):
        spans = _word_spans(node)
        if node.type == "test_command":
            spans = [spans[0], (spans[0][1], spans[-1][1])]
        commands[spans[0]] = set(spans)
    strays: set[Span] = set()
    for node in found.get("redirect", ()):
        strays.update(_joined(node.children_by_field_name("destination"))[1:])
    return commands, strays


def command_spans(root: "Node") -> list[list[Span]]:
    """Return the spans of the words of each simple command that tree-sitter sees, in the order of the text."""
    return sorted(_word_spans(node) for node in _captures(root).get("command", ()))


def _captures(root: "Node") -> "dict[str, list[Node]]":
    from tree_sitter import QueryCursor  # noqa: PLC0415 - slow: only a session that runs a script needs it

    return QueryCursor(_grammar()[1]).captures(root)


def _word_spans(node: "Node") -> list[Span]:
    kept = (
        child for child in node.children if child.type not in _NO_WORDS or node.type == "declaration_command"
    )
    return _joined(kept)


def _joined(nodes: "Iterator[Node] | list[Node]") -> list[Span]:
    """Return the spans of nodes; those that touch are one word."""
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
