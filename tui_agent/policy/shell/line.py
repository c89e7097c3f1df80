"""L3: reads a command line as bash reads it: the parts that it runs, with all that is known of their words.

Invariant: every construct that is not known becomes a problem, and the commands inside it are still listed, so that a
deny rule sees them. `analyse` never raises.
"""

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from tui_agent.policy.shell.heredocs import mended
from tui_agent.policy.shell.line_breaks import command_lines, joins_lines
from tui_agent.policy.shell.reader import ScriptReader
from tui_agent.policy.shell.script import Script
from tui_agent.policy.shell.sums import numbers, several
from tui_agent.policy.shell.tree import (
    MAX_PARSED,
    assigned_once,
    crowded,
    gaps,
    misplaced,
    setters,
    suspicious,
    unbalanced,
)
from tui_agent.policy.shell.words import Scope

if TYPE_CHECKING:
    from tree_sitter import Parser

MAX_CHARS = 10_000
MAX_NODES = 2_000
"""Of the syntax tree: a line with more is not read, as its reading would take longer than anybody should wait."""

# The grammar's scanner looks characters up in a table of bytes and can end the program on others. Outside ASCII bash
# knows only letters of words, so the parser is shown a letter for each such byte; texts come from the script itself.
_ASCII = bytes(range(128)) + b"Z" * 128


def analyse(script: str) -> Script:
    """What a script runs, without running it. See `Script`."""
    problems = list(suspicious(script))
    if len(script) > MAX_PARSED:
        return Script(script, (), ("it is too long to be read",), unread=True)
    if "\0" in script:
        return Script(script, (), ("it holds a character that ends it for some programs",), unread=True)
    if len(script) > MAX_CHARS:
        problems.append("it is longer than 10,000 characters")
    if crowded(script):
        return Script(script, (), (*problems, "it has too many parts"), unread=True)
    if unbalanced(script):
        return Script(script, (), (*problems, "it is nested too deeply"), unread=True)
    raw = script.encode("utf-8", "surrogatepass")
    root = _parser().parse(raw.translate(_ASCII)).root_node
    if root.descendant_count > MAX_NODES:
        return Script(script, (), (*problems, "it has too many parts"), unread=True)
    other = mended(script) if root.has_error else ""
    if other:
        return replace(analyse(other), text=script)
    elsewhere = misplaced(root, raw)
    if root.has_error or elsewhere:
        problems.append("it cannot be parsed as a shell script")
    setting = setters(root, raw)
    reader = ScriptReader(raw, assigned_once(setting), numbers(setting), several(setting), analyse)
    reader.visit(root, Scope(), 0)
    reader.rest(root)
    if "OLDPWD" in script and "cd" in script:
        problems.append("it may say where `cd -` leads")
    if gaps(root, raw):
        problems.append("part of it was not understood")
    reader.unread = reader.unread or elsewhere
    if joins_lines(root, raw):
        problems.append("a line break in it may end a command where that cannot be seen")
        reader.unread = True
        for line in command_lines(script):
            reader.read_also(line)
    problems += reader.problems
    if not reader.commands and not problems:
        problems.append("it runs nothing")
    unique = tuple(dict.fromkeys(problems))
    return Script(
        script,
        tuple(reader.commands),
        unique,
        frozenset(reader.functions),
        reader.ruin,
        reader.unread,
        reader.top,
    )


@cache
def _parser() -> "Parser":
    import tree_sitter_bash  # noqa: PLC0415 - slow: only a session that runs a script needs it
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))
