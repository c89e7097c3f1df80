"""What a reader of a program's own language is given and what it answers.

Invariant: frozen data; a reader never raises.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.report import FileUse, Value


class ScriptReader(Protocol):
    """Reads a script that is given as one text: sed, awk, jq. Returns a doubt, a clause in plain words ("awk may run a
    program"); it is empty only where every character was recognised as harmless."""

    def __call__(self, script: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a program as its listed options were parsed. `options` are the option spellings in order with their words
    (None: it has none); `operands` everything that is no option. `piped` is what its standard input can hold where that
    is bounded (a pattern of file names, one a line), None where it is not."""

    arguments: Sequence[Value]
    options: Sequence[tuple[str, Value | None]] = ()
    operands: Sequence[Value] = ()
    piped: Value | None = None


@dataclass(frozen=True, slots=True)
class ArgumentReading:
    """What a call of find, fd, xargs or test does. `commands` are the words of those that it runs, with what it fills in;
    `prints` bounds its output (a pattern of the paths that it lists), None where nothing bounds it. `doubt` as in
    `ScriptReader`; with one, `files`, `effects` and `commands` hold what was recognised all the same, for rules that
    deny."""

    files: tuple[FileUse, ...] = ()
    effects: frozenset[Effect] = frozenset()
    commands: tuple[tuple[Value, ...], ...] = ()
    prints: Value | None = None
    doubt: str = ""


class ArgumentReader(Protocol):
    """Reads the arguments of a program that has an expression language or starts others: find, fd, xargs, test."""

    def __call__(self, call: Call) -> ArgumentReading: ...
