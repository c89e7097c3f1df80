"""The report of a command line: each command with its words, effects, files and doubts.

Invariant: a report is frozen data.
"""

from dataclasses import field
from enum import StrEnum
from typing import Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog_schema import Effect, Program


class Certainty(StrEnum):
    """The certainty of a word: its exact text is known, its text matches a pattern, or nothing is known."""

    KNOWN = "known"
    BOUNDED = "bounded"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Value:
    """A word of a command after bash has expanded it.

    - `source`: the text of the word in the command line.
    - `text`: the exact text of a `KNOWN` word; for a `BOUNDED` word, a shell pattern that matches every possible text
      (`*` and `?` match within one name, `**` any number of folders); empty for an `UNKNOWN` word.
    - `many`: the word can become several words or none.
    - `may_be_option`: the text can begin with `-`, `+`, `@`, `|` or `=`.
    - `names_files`: the text is always the name of an existing file in one of the folders `found_in`.
    - `found_in`: folders of the files; None means the folders of the command.
    - `splits`: bash splits the word at blanks or newlines. The pieces need not match the pattern.
    - `prefix`, `suffix`: the parts with which an `UNKNOWN` text certainly begins and ends.
    - `may_be_empty`: the text can be empty, even if the pattern does not match the empty text.
    - `content`: the text is always a number, a hash, or a git revision. It has no blanks, and no colon if `text` has none.
    - `one_word`: the text is at most one word, even where bash splits it.
    - `ends_in_number`: the text is a certain beginning and then a number or nothing (`-j$N`).
    - `background_job`: the text is always the process ID of a background job of the shell (`$!`), or empty.
    - `shows`: environment variables whose values the text can contain.
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
    one_word: bool = False
    ends_in_number: bool = False
    background_job: bool = False
    shows: tuple[str, ...] = ()

    @property
    def known(self) -> str | None:
        """The exact text; None if the text is not known."""
        return self.text if self.certainty is Certainty.KNOWN else None


FileAction: TypeAlias = Literal["read", "list", "write", "move", "delete", "mention", "start"]
"""The way a command uses a file.

`list`: only the file's name, size and date are shown.
`mention`: the path is a word of a command, and the program may do anything with the file.
`start`: the file is a program of the workspace that the policy knows, and the command runs it.
"""


@dataclass(frozen=True, slots=True)
class FileUse:
    """The use of a file or folder by a command.

    - `path`: relative to the folder the line starts in, absolute, or with `~`; a shell pattern if `certainty` is
      `BOUNDED`; empty for an `UNKNOWN` path.
    - `below`: everything below the path is used too. The fields `skips`, `only` and `excludes` leave out some of these
      files.
    - `skips`: kinds of files that are left out.
    - `only`: if not empty, only names that match one of these patterns are used.
    - `excludes`: names that match are left out. A pattern that ends with `/` matches only folders.
    - `follows_links`: links below the path are followed.
    - `from_top`: the path is also used a second time, relative to the top of the workspace.
    - `redirected`: the shell opens the file, for a redirection of the command.
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
    redirected: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason why it is not proven what a command does, as a clause ("it is not known what foo does").

    - `name`: the kind of doubt, for tests and rules.
    - `hides_command`: it is not even certain which program or script runs.
    - `value`: the word in question. None if file names cannot settle the doubt.

    File names in the workspace settle the doubt if `value.names_files` is true and the word matches no dangerous name.
    A name is dangerous in these cases:

    - It begins with one of `- + @ | =` (kind "option-like").
    - It contains one of `: * ? [` (kind "value").
    - It contains a blank, a quote or a backslash, and `value.splits` is true.
    """

    name: Literal[
        "program",  # nothing is known of the program
        "option",  # an option is unlisted, abbreviated or given twice
        "operand",  # an unexpected or surplus operand
        "value",  # the text of a word is not certain, and it matters
        "option-like",  # a word may look like an option, because it may begin with - @ | +
        "language",  # a script of sed, awk, … is outside the accepted subset
        "variable",  # a variable that may change what runs is set
        "syntax",  # the text is outside the subset of bash
        "folder",  # it is not certain in which folder it runs
        "limit",  # it has too many commands to check
    ]
    reason: str
    hides_command: bool = False
    value: Value | None = None


@dataclass(frozen=True, slots=True)
class CommandReport:
    """The report of a simple command, or of a command that another command runs (`xargs grep`, `bash -c '…'`).

    - `words`: the values of its words; the first is the program.
    - `name`: the program with its recognised subcommand (`git log`), or the plain name of an unknown program.
    - `entry`: the place of its catalog entry (`programs/git/log.toml`), empty for an unknown program.
    - `program`: the catalog entry.
    - `hosts`: hosts that the command can connect to.
    - `folders`: the folders that the command can run in, absolute or relative to the line's start folder. "" is the
      start folder. None is any folder.
    - `settings`: variables that are set before the command or by the command.
    - `code`: texts in the command that it runs as code.
    - `runs_next`: the command only starts the commands that follow in the report.
    - `local_program`: `node_modules/.bin/tsc` for `npx tsc`. If this file exists in the command's folder or in a
      parent, the command runs it and downloads nothing.
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
    local_program: str = ""
    doubts: tuple[Doubt, ...] = ()
    program: Program = field(default=Program(about=""), compare=False)

    @property
    def only_reads(self) -> bool:
        """True if the command provably does no more than read files."""
        return self.effects <= {Effect.READS} and not self.doubts


@dataclass(frozen=True, slots=True)
class LineReport:
    """The report of a command line or an argument vector.

    - `commands`: the reports of its commands, in text order.
    - `refusal`: the reason why the bash parser refuses the text, or an empty string. With a refusal, `commands` has the
      commands of every possible reading and proves nothing.
    - `unreadable`: the line can contain commands that no reading shows.
    """

    line: str
    commands: tuple[CommandReport, ...]
    refusal: str = ""
    unreadable: bool = False
