"""The report of a command line: each command with its words, effects, files and doubts.

Invariant: frozen data. A command with a doubt never runs unasked under a profile that asks.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from tui_agent.policy.catalog.model import Effect, Program


class Certainty(StrEnum):
    """How much is known of a word: its exact text, a pattern that it fits, or nothing."""

    KNOWN = "known"
    BOUNDED = "bounded"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Value:
    """A word after expansion.

    `source` is its text in the line. `text` is the exact text where it is `KNOWN`; where it is `BOUNDED` a shell pattern
    that every text it can have fits (`*` and `?` stay inside one name, `**` is any number of folders); empty where it is
    `UNKNOWN`. `many`: it may become several words or none. `may_be_option`: it is not certain that it begins with none of
    `-`, `+`, `@`, `|` and `=`. `names_files`: it stands only for names of files that exist, in the folders `found_in` (None:
    in those of the command that has the word). `splits`: it is split at blanks or cut at a line end, so that a name with one
    in it becomes words that need not fit the pattern. `prefix`: what it certainly begins with where it is `UNKNOWN`,
    `suffix` what it ends with. `may_be_empty`: it may also be no text at all, which fits no pattern. `content`: all that it
    can be is a number, a hash, or a word that names a revision for git (no blank; a colon only where the text has it).
    `shows`: variables of the environment that it may show.
    """

    source: str
    certainty: Certainty
    text: str = ""
    many: bool = False
    may_be_option: bool = False
    names_files: bool = False
    found_in: tuple[str | None, ...] | None = None
    splits: bool = False
    prefix: str = ""
    suffix: str = ""
    may_be_empty: bool = False
    content: Literal["", "number", "hash", "revision"] = ""
    shows: tuple[str, ...] = ()

    @property
    def known(self) -> str | None:
        """The exact text, None where it is not known."""
        return self.text if self.certainty is Certainty.KNOWN else None


FileAction: TypeAlias = Literal["read", "list", "write", "move", "delete", "mention"]
"""`list` shows only names, sizes and dates. `mention`: a program that may do anything is given a word that may be a
path."""


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file or folder that a command uses.

    `path` is relative to the folder the line starts in, absolute, or begins with `~`; a shell pattern where `certainty`
    is `BOUNDED`, empty where it is `UNKNOWN`. `below`: with everything below it. Of what is below: files whose kind is in
    `skips` are left out, only names that fit one of `only` are used (all where it is empty), none that fits `excludes`
    (with `/` at its end: no folder that fits).
    `follows_links`: links below it are followed. `from_top`: seen from the top of the workspace it is used as well.
    """

    path: str
    action: FileAction
    certainty: Certainty = Certainty.KNOWN
    below: bool = False
    skips: frozenset[str] = frozenset()
    only: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    follows_links: bool = False
    from_top: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why it is not proven what a command does: a clause in plain words ("it is not known what foo does"), and a name by
    which tests and rules find it. `hides_command`: it is not even certain which program or script runs. `value` is the
    word that it is about where only certain names of files are a danger: where `value.names_files`, and it fits no name in
    the folders of the command that begins with one of `- + @ | =` (of "option-like"), that has one of `: * ? [` in it (of
    "value") or, where it `splits`, a blank, a quote or a backslash as well, the doubt is void."""

    name: Literal[
        "program",  # nothing is known of the program
        "option",  # an option is not listed, abbreviated, or stands twice
        "operand",  # a word where none is expected, or too many
        "value",  # a word of which the text is not certain stands where it matters
        "option-like",  # a word that may begin with - @ | + could be taken for an option
        "language",  # a script of sed, awk, … outside the subset that is read
        "variable",  # a variable is set that may change what runs
        "syntax",  # the text is outside the subset of bash that is read
        "folder",  # it is not certain in which folder it runs
        "limit",  # there is too much of it to be judged
    ]
    reason: str
    hides_command: bool = False
    value: Value | None = None


@dataclass(frozen=True, slots=True)
class CommandReport:
    """One simple command, or one that another command runs (`xargs grep`, `find -exec cat`, `bash -c '…'`).

    `words` are its values, the program's name first. `name` is the program with the subcommand that was recognised
    (`git log`), the bare name where nothing is known of it. `entry` is where it stands in the catalog
    (`programs/git/log.toml`), empty for unknown programs; `program` is what stands there. `folders` are the folders that it may run in, relative to where
    the line starts ("" is that folder itself) or absolute; None in it: it is not certain. `settings` are variables set in
    front of it or by it. `code` is text that it is given to run. `runs_next`: it only starts the commands behind it in the report.
    `hosts` are hosts that it may talk to.
    """

    source: str
    words: tuple[Value, ...]
    name: str = ""
    entry: str = ""
    effects: frozenset[Effect] = frozenset({Effect.READS})
    files: tuple[FileUse, ...] = ()
    hosts: tuple[str, ...] = ()
    folders: tuple[str | None, ...] = ("",)
    settings: tuple[tuple[str, Value], ...] = ()
    code: tuple[str, ...] = ()
    runs_next: bool = False
    doubts: tuple[Doubt, ...] = ()
    program: Program = field(default=Program(about=""), compare=False)

    @property
    def only_reads(self) -> bool:
        """True if it is proven that it does no more than read its files."""
        return self.effects <= {Effect.READS} and not self.doubts


@dataclass(frozen=True, slots=True)
class LineReport:
    """A whole command line, or an argument vector.

    `commands` stand in the order of the text. `refusal` says why the text is outside the subset, empty where it is
    inside; then `commands` are those of every reading that is possible, and prove nothing. `unreadable`: commands may
    stand in it that no reading shows.
    """

    line: str
    commands: tuple[CommandReport, ...]
    refusal: str = ""
    unreadable: bool = False
