"""The syntax tree of the bash subset that a command line must lie in to run unasked.

Invariant: frozen data. A tree holds the whole text: what has no node here is outside the subset.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Literal characters, quotes and backslashes removed. `quoted`: no expansion of braces, patterns or `~` in them."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """Unquoted `*`, `?` or `[…]`, as written."""

    text: str


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name` or `${name}`; `name` may be one of the special `?`, `#`, `$`, `!`, `0`…`9`, `@` and `*`. With an `operator`
    (`:-`, `#`, `##`, `%`, `%%`) and the `operand` behind it: `${name:-none}`, `${name##*/}`."""

    name: str
    quoted: bool
    operator: str = ""
    operand: str = ""


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(…)`: the output of a script without its trailing newlines."""

    script: "Script"
    quoted: bool


@dataclass(frozen=True, slots=True)
class ProcessOutput:
    """`<(…)`, always a whole word: the name of a stream from which the output of a script can be read."""

    script: "Script"


Piece: TypeAlias = Text | Pattern | Variable | Substitution | ProcessOutput


@dataclass(frozen=True, slots=True)
class Word:
    """One word before expansion. `source` is its text from `start` (an offset in characters into the whole script);
    braces are expanded already, so that several words can have the same `source` and `start`."""

    source: str
    start: int
    pieces: tuple[Piece, ...]

    @property
    def literal(self) -> str | None:
        """The text where nothing of it is expanded, else None."""
        if any(not isinstance(piece, Text) for piece in self.pieces):
            return None
        return "".join(piece.text for piece in self.pieces if isinstance(piece, Text))


RedirectOperator: TypeAlias = Literal["<", ">", ">>", ">|", "&>", "&>>", "<<", "<<<", ">&", "<&"]


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection. `target` is the file's word, of `>&` and `<&` the descriptor, of `<<<` the text; `body` is the text
    of a here-document (`<<`). `descriptor` is the number in front, None where there is none."""

    source: str
    operator: RedirectOperator
    descriptor: int | None
    target: Word | None = None
    body: Word | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name=value`, alone or in front of a command."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """Words with assignments and redirections around them. `words` is empty where it only assigns or redirects."""

    source: str
    start: int
    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class ForLoop:
    """`for variable in items; do body; done`."""

    variable: str
    items: tuple[Word, ...]
    body: "Script"
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """`while condition; do body; done`, or `until`."""

    condition: "Script"
    body: "Script"
    redirects: tuple[Redirect, ...] = ()
    until: bool = False


@dataclass(frozen=True, slots=True)
class Conditional:
    """`if … then … elif … else … fi`: conditions with their bodies, in order; `otherwise` is the `else` part."""

    branches: tuple[tuple["Script", "Script"], ...]
    otherwise: "Script | None" = None
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """`{ …; }`, or with `subshell` `( … )`."""

    script: "Script"
    subshell: bool
    redirects: tuple[Redirect, ...] = ()


Command: TypeAlias = SimpleCommand | ForLoop | WhileLoop | Conditional | Group


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|` or `|&`; a single command is a pipeline of one. `negated`: `!` stands in front."""

    commands: tuple[Command, ...]
    negated: bool = False


Connector: TypeAlias = Literal["&&", "||", ";", "&", ""]


@dataclass(frozen=True, slots=True)
class ScriptItem:
    """A pipeline and the connector behind it: a newline counts as `;`, the end as the empty string."""

    pipeline: Pipeline
    connector: Connector


@dataclass(frozen=True, slots=True)
class Script:
    """A list of pipelines; an empty script has none."""

    items: tuple[ScriptItem, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a text is outside the subset: a clause in plain words ("it uses arithmetic"), and where (characters)."""

    reason: str
    start: int
