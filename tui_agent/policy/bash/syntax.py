"""The syntax tree of the supported subset of bash.

Invariant: the nodes are frozen data, and a tree covers the whole text.
"""

from typing import Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Literal characters of a word, without quotes and backslashes.

    `quoted`: True if bash does not expand braces, patterns or `~` in the text.
    """

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """An unquoted `*`, `?` or `[…]` in a word, as written."""

    text: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in a word, such as `$name`, `${name}` or `${name##*/}`.

    `name`: the name, or a special parameter: `?`, `#`, `$`, `!`, `0`…`9`, `@` or `*`.
    `operator`: `:-`, `#`, `##`, `%`, `%%`, or empty.
    `operand`: the text after the operator, such as `*/`.
    """

    name: str
    quoted: bool
    operator: str = ""
    operand: str = ""


@dataclass(frozen=True, slots=True)
class Substitution:
    """A command substitution `$(…)`: the output of a script, without trailing newlines."""

    script: "Script"
    quoted: bool


@dataclass(frozen=True, slots=True)
class ProcessOutput:
    """A process substitution `<(…)`, which is always a whole word."""

    script: "Script"


Piece: TypeAlias = Text | Pattern | Variable | Substitution | ProcessOutput


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a script after brace expansion, before bash expands the rest.

    `source`: the text of the word before brace expansion.
    `start`: the offset of `source` in the whole script, in characters.
    """

    source: str
    start: int
    pieces: tuple[Piece, ...]

    @property
    def literal(self) -> str | None:
        """The text of the word if bash expands nothing in it; otherwise None."""
        if any(not isinstance(piece, Text) for piece in self.pieces):
            return None
        return "".join(piece.text for piece in self.pieces if isinstance(piece, Text))


RedirectOperator: TypeAlias = Literal["<", ">", ">>", ">|", "&>", "&>>", "<<", "<<<", ">&", "<&"]


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection, such as `2>&1`, `< file` or `<<END`.

    `descriptor`: the number before the operator.
    `target`: the word after the operator: a descriptor for `>&` and `<&`, the text for `<<<`, otherwise a file.
    `body`: the text of a here-document (`<<`).
    """

    source: str
    operator: RedirectOperator
    descriptor: int | None
    target: Word | None = None
    body: Word | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assignment `name=value`, alone or before a command."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A simple command: words, assignments and redirections. Without words, it only sets variables or redirects."""

    source: str
    start: int
    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class ForLoop:
    """A loop `for variable in items; do body; done`."""

    variable: str
    items: tuple[Word, ...]
    body: "Script"
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """A loop `while condition; do body; done`, or the same loop with `until`."""

    condition: "Script"
    body: "Script"
    redirects: tuple[Redirect, ...] = ()
    until: bool = False


@dataclass(frozen=True, slots=True)
class Conditional:
    """A conditional `if … then … elif … else … fi`.

    `branches`: pairs of a condition and its body.
    `otherwise`: the `else` part.
    """

    branches: tuple[tuple["Script", "Script"], ...]
    otherwise: "Script | None" = None
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """A group `{ …; }`, or a subshell `( … )`."""

    script: "Script"
    subshell: bool
    redirects: tuple[Redirect, ...] = ()


Command: TypeAlias = SimpleCommand | ForLoop | WhileLoop | Conditional | Group


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|` or `|&`, or a single command, perhaps negated by `!`."""

    commands: tuple[Command, ...]
    negated: bool = False


Connector: TypeAlias = Literal["&&", "||", ";", "&", ""]


@dataclass(frozen=True, slots=True)
class ScriptItem:
    """A pipeline in a list, and the connector after it (`;`, `&`, `&&`, `||`).

    A newline is stored as `;`. At the end of the list, the connector is empty.
    """

    pipeline: Pipeline
    connector: Connector


@dataclass(frozen=True, slots=True)
class Script:
    """A list of pipelines."""

    items: tuple[ScriptItem, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a script that the parser does not support.

    `reason`: a clause ("it uses arithmetic").
    `start`: the offset of the unsupported text, in characters.
    """

    reason: str
    start: int
