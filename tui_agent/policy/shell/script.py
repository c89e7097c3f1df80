"""L3: a command line as it was understood: plain data between the parser and the judgement.

Invariant: a `Word` holds values only where they are certain; everything else is None and never allowed by guessing.
"""

from dataclasses import dataclass, field

READ_ONLY = "read-only"
WORKSPACE = "workspace"
NETWORK = "network"
DESTRUCTIVE = "destructive"
PRIVILEGE = "privilege"
ARBITRARY = "arbitrary"

CLASSES: tuple[str, ...] = (READ_ONLY, WORKSPACE, NETWORK, ARBITRARY, DESTRUCTIVE, PRIVILEGE)
"""From the most harmless on. `arbitrary` is what may be anything: unknown programs, code given as text."""


def ranked(classes: frozenset[str]) -> tuple[str, ...]:
    """In the order of `CLASSES`; what only reads is named only where it is all."""
    kept = tuple(name for name in CLASSES if name in classes)
    return kept if kept == (READ_ONLY,) else tuple(name for name in kept if name != READ_ONLY)


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `values` are all that it can be, None when that is not certain; with `glob` they are patterns.

    `made_by` is the pipeline whose output it is, between the two texts of `around`; `split`: that falls into words at
    its blanks.
    """

    text: str
    values: tuple[str, ...] | None
    glob: bool = False
    made_by: "tuple[Command, ...]" = ()
    split: bool = False
    around: tuple[str, str] = ("", "")
    maybe: tuple[str, ...] = ()
    """Patterns of what it may be, where that is not certain."""
    counted: str = ""
    """It with a 1 for each number in it, where nothing but numbers is not certain."""
    many: bool = False
    """It may be no word, or several: what stands behind it may mean something else."""

    @property
    def spreads(self) -> bool:
        """It is a pattern that the shell expands where it stands."""
        return self.glob and self.text[:1] not in ("'", '"') and any(sign in self.text for sign in "*?[")

    @property
    def varies(self) -> bool:
        """It may stand for another number of words than one."""
        return self.many or self.spreads

    @property
    def whole(self) -> bool:
        """It is the output of a pipeline and nothing else."""
        return bool(self.made_by) and not any(self.around)

    @property
    def value(self) -> str | None:
        """The one certain value of a word that is no pattern."""
        return self.values[0] if self.values is not None and len(self.values) == 1 and not self.glob else None


@dataclass(frozen=True, slots=True)
class Redirect:
    """`reads` or writes `target`. `empties`: what was in the file is gone before anything is written. `text`: what is read
    is the target itself, a here-document or a here-string; one without values is a file descriptor."""

    target: Word
    reads: bool
    empties: bool = False
    text: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command where it stands. `places` are the folders it may run in, relative to the script's start;
    None stands for anywhere. `fed_by` are the commands in front of it in its pipeline, where all of them are simple and
    nothing else feeds it."""

    text: str
    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    places: tuple[str | None, ...] = ("",)
    fed_by: "tuple[Command, ...]" = ()

    @property
    def moves(self) -> bool:
        """What follows it may run in another folder."""
        return bool(self.words) and self.words[0].value in ("cd", "pushd", "popd", None)


@dataclass(frozen=True, slots=True)
class Script:
    """All simple commands of a script, at whatever depth, in the order of the text.

    `problems` say why it is not fully understood; with any of them it is never allowed unasked.
    """

    text: str
    commands: tuple[Command, ...]
    problems: tuple[str, ...] = ()
    functions: frozenset[str] = field(default=frozenset())
    ruin: str = ""
    """Why it can only destroy; empty where nothing says so."""
    unread: bool = False
    """Commands may stand in it that are not listed."""
    top: bool = False
    """It is read as in a workspace that is the top of its repository."""
