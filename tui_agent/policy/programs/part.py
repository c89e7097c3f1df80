"""L3: one thing that a command line does: its class, and the files and hosts that it touches.

Invariant: what is not certain is marked `unsure`, so that no rule can allow it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tui_agent.policy.shell.script import READ_ONLY, Word
from tui_agent.policy.shell.words import join

STREAMS = frozenset({"-", "/dev/null", "/dev/fd/0", "/dev/stdin", "/dev/stdout", "/dev/stderr"})
"""What stands for no file: text comes from there or goes there, and nothing else."""


MAX_PATHS = 250
"""Files of one command that are looked at one by one."""
GLOB = frozenset("*?[")


@dataclass(slots=True)
class Part:
    """Paths are relative to the script's start or absolute, `~` is a home. `places` are the folders it may run in."""

    text: str
    program: str
    name: str = ""
    """The program with the subcommand that was recognised, as `git log`."""
    places: tuple[str | None, ...] = ("",)
    classes: set[str] = field(default_factory=set)
    reads: list[str] = field(default_factory=list)
    looks: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    patterns: set[str] = field(default_factory=set)
    """Those of the paths that are patterns."""
    words: tuple[str | None, ...] = ()
    """The command's words as a rule sees them; None where one is not certain."""
    whole: tuple[str | None, ...] = ()
    """The same with the words in front by which a tool of the workspace starts it, as `uv run`; () where none does."""
    why: list[str] = field(default_factory=list)
    """What keeps it from being judged harmless, as clauses."""
    may_read: list[str] = field(default_factory=list)
    """Patterns of what it may read, where that is not certain; only guards look at them."""
    may_write: list[str] = field(default_factory=list)
    unknown: bool = False
    """Nothing is known of its program."""
    unsure: bool = False
    vague: bool = False
    """Which files it touches is not certain."""
    sets: bool = False
    """It runs with variables that may change what runs."""
    opaque: bool = False
    """It may run what no part shows: code that nobody can read from the line."""
    blind: bool = False
    """Which program it runs, or which script, stands nowhere in the line."""
    settings: tuple[str, ...] = ()
    """Variables that are set in front of it, `NAME=value`."""
    told: str | None = None
    """The text that it reads from its standard input, where that is certain."""
    starts: bool = False
    """It starts what the parts behind it are."""
    relays: bool = False
    """It hands what its words name on to another machine, or into a container."""
    downloads: bool = False
    at_hand: str = ""
    """Where the program that it fetches may lie already, in a folder that it runs in or one above it."""
    ruin: str = ""
    deep: bool = False
    """What it names is meant with everything below."""
    changed_below: list[str] = field(default_factory=list)
    """Folders of which it may change whatever lies below, and files, without naming what it changes."""
    shown_below: list[str] = field(default_factory=list)
    """The same for what it reads."""
    filled: list[str] = field(default_factory=list)
    """Folders that it makes and fills."""
    told_of: list[str] = field(default_factory=list)
    """Paths among its words of which nothing says what it does with them."""
    into: bool = False
    """What it writes is one more name in a folder, should that be one."""
    keeps: int = 0
    """How many words a rule for it keeps in front of `*`; 0: no such rule."""

    @property
    def guesses(self) -> tuple[str, ...]:
        """Patterns of all that it may touch."""
        return (*self.may_read, *self.may_write)

    @property
    def kept(self) -> tuple[str | None, ...]:
        """The words that a rule for it keeps in front of `*`, with those by which it is started."""
        words = self.whole or self.words
        return words[: len(words) - len(self.words) + self.keeps]

    @property
    def harmless(self) -> bool:
        """It only reads, and all of it is certain."""
        return self.classes <= {READ_ONLY} and not self.why and not self.unsure

    def turn(self, name: str, why: str) -> None:
        """It is of this class too."""
        self.classes.add(name)
        if name != READ_ONLY and why:
            self.why.append(why)

    def doubt(self, why: str) -> None:
        """Something of it is not certain."""
        self.why.append(why)
        self.unsure = True

    def add(self, into: list[str], words: Iterable[Word]) -> None:
        """Files that it touches, from wherever it may run."""
        for word in words:
            if len(into) > MAX_PATHS:
                self.doubt("it names too many files")
                return
            guessed = self.may_read if into is self.reads or into is self.looks else self.may_write
            guessed += (
                path
                for value in word.maybe
                if word.values is None
                for place in self.places
                if (path := join(place, value)) is not None
            )
            for value in self._certain(word):
                for place in self.places:
                    path = join(place, value)
                    if path is None:
                        self.doubt(f"it is not certain what {word.text} names")
                        self.vague = True
                        continue
                    into.append(path)
                    self._mark(word, place, path)

    def stand(self) -> None:
        """It looks at the folder it runs in."""
        for place in self.places:
            if place is None:
                self.doubt("it is not certain in which folder it runs")
                self.vague = True
            elif place:
                self.looks.append(place)
                self._mark(None, place, place)

    def move(self, word: Word) -> None:
        """It runs in another folder."""
        if word.value is None:
            self.places = (None,)
        else:
            self.places = tuple(join(place, word.value) for place in self.places)

    def mention(self, words: Sequence[Word]) -> None:
        """Words whose meaning is not known: what may be a path may be read and written."""
        for word in words:
            for value in word.values or ():
                _, equals, given = value.partition("=")
                path = given if equals and value.startswith("-") else value
                for place in self.places if path and not path.startswith("-") else ():
                    found = join(place, path)
                    if found is not None:
                        self.looks.append(found)
                        self._mark(word, place, found)
            if word.values is None:
                self.unsure = True

    def _mark(self, word: Word | None, place: str | None, path: str) -> None:
        """Note that a path is a pattern where it is one."""
        if (word is not None and word.glob) or not GLOB.isdisjoint(place or ""):
            self.patterns.add(path)

    def _certain(self, word: Word) -> tuple[str, ...]:
        if word.values is None:
            self.doubt(f"it is not certain what {word.text} names")
            self.vague = True
            return ()
        return tuple(value for value in word.values if value not in STREAMS)


def moved(part: Part, places: tuple[str | None, ...]) -> Part:
    """A part of a script that starts in one of these folders: its paths as seen from where they are seen."""
    out = replace(part, why=list(part.why), patterns=set(part.patterns))
    for name in _PATHS:
        found: list[str] = []
        for path in getattr(part, name):
            for place in places:
                there = join(place, path)
                if there is None:
                    out.unsure = True
                found.append(path if there is None else there)
                if path in part.patterns:
                    out.patterns.add(found[-1])
        setattr(out, name, found)
    return out


_PATHS = ("reads", "looks", "writes", "removes", "may_read", "may_write", "changed_below", "shown_below", "filled", "told_of")  # fmt: skip
GIT = "git"


def started(part: Part) -> str:
    """The name by which a command starts its program. Wherever git lies, also one command of it alone (`git-push`), the
    repository's configuration is the same."""
    name = (part.words[0] if part.words else part.program) or ""
    bare = name.rpartition("/")[2]
    return GIT if bare == GIT or bare.startswith(f"{GIT}-") else name
