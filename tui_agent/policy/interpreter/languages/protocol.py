"""The interface of the language readers: their input and their result.

Invariant: a reader never raises.
"""

from collections.abc import Sequence
from typing import Protocol

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.interpreter.command_report import FileUse, Value


class ScriptReader(Protocol):
    """Function that reads a script of sed, awk, jq or printf.

    Returns a doubt as a clause ("awk may run a program"), or an empty string for a harmless script.
    """

    def __call__(self, script: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Call:
    """A call of find, fd, xargs or test, with its listed options parsed.

    `options`: the spellings in order, each with its value or None.
    `operands`: all other words.
    `piped`: a pattern that matches each line of standard input (file names); None if the lines can be any text.
    """

    arguments: Sequence[Value]
    options: Sequence[tuple[str, Value | None]] = ()
    operands: Sequence[Value] = ()
    piped: Value | None = None


@dataclass(frozen=True, slots=True)
class ArgumentReport:
    """The interpretation of a call of find, fd, xargs or test.

    - `commands`: the commands that the call runs, with the added file names.
    - `prints`: a pattern of the output (paths); None if the output can be any text.
    - `doubt`: a clause; empty if there is no doubt.

    With a doubt, `files`, `effects` and `commands` can be incomplete.
    """

    files: tuple[FileUse, ...] = ()
    effects: frozenset[Effect] = frozenset()
    commands: tuple[tuple[Value, ...], ...] = ()
    prints: Value | None = None
    doubt: str = ""


class ArgumentReader(Protocol):
    """Function that reads the arguments of find, fd, xargs or test."""

    def __call__(self, call: Call) -> ArgumentReport: ...
