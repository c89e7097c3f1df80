"""The schema of the catalog: one model each for a program, an option, an operand and an example.

Invariant: an unknown key or word is refused; what an entry does not list is not allowed unasked.
"""

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool
from pydantic_core import PydanticCustomError


class Effect(StrEnum):
    """The effects of a command on the world. A command runs unasked only if it `READS` and nothing else."""

    READS = "reads"
    WRITES = "writes"
    DELETES = "deletes"
    RUNS = "runs"
    CONNECTS = "connects"
    ACTS_AS_OTHER = "acts as another user"
    PRINTS_SECRETS = "prints secrets"
    NEVER_ENDS = "never ends"
    NEEDS_TERMINAL = "needs a terminal"
    LEAVES_PROCESS = "leaves a process behind"


Language: TypeAlias = Literal["awk", "jq", "printf", "sed", "find", "fd", "xargs", "test"]
"""Languages that are read: interpreter/languages."""

Meaning: TypeAlias = Literal[
    "text",  # any text; names no file and changes nothing: a search pattern, a format
    "number",  # digits, with an optional sign or unit; nothing else
    "count",  # a number up to 10,000 without a unit
    "seconds",  # a number up to 99 without a unit
    "read",  # a file whose content is read
    "list",  # a file or folder of which only names, sizes or dates are shown
    "write",  # a file that is made or changed
    "edit",  # a file that is read and changed
    "move",  # a file or folder that is moved away with everything below it
    "delete",  # a file or folder that is taken away
    "enter",  # the folder to work in
    "revision",  # a commit, branch, tag or range of a repository
    "revision or path",  # either; behind `--` only a path. One that begins with a dash is never certain: see git blame
    "path filter",  # a pattern or path that chooses among tracked files (git pathspec)
    "include",  # a name pattern: only files that fit are read
    "exclude",  # a name pattern: files and folders that fit are left out
    "exclude folder",  # a name pattern: folders that fit are left out with all below them, but no file is
    "file list",  # a file that names further files, which are read
    "host",  # a host or an address to talk to
    "program",  # the name of a program, which is looked up and not run
    "variable",  # the name of a variable, which is shown
    "shell variable",  # the name of a variable of the shell, which is set or forgotten
    "assignment",  # NAME=value, put into the environment of the command behind it
    "setting",  # NAME=value that configures the program itself
    "command",  # this word and all behind it are a command that is run
    "shell script",  # bash text that is run
    "code",  # text in another language that is run
    "script file",  # a file with code that is run; where an operand that is missing would be one, it reads its input
    Language,
]


def meaning_of(operand: str) -> str:
    """Return the meaning of an operand ("read" of "read...")."""
    return operand.removesuffix("..." if operand.endswith("...") else "?")


def _check_operand(operand: str) -> str:
    if meaning_of(operand) not in get_args(Meaning):
        known = ", ".join(f"'{meaning}'" for meaning in get_args(Meaning))
        raise PydanticCustomError(
            "meaning", "input should be one of {known}, with ... or ? behind it", {"known": known}
        )
    return operand


OperandMeaning: TypeAlias = Annotated[str, AfterValidator(_check_operand)]
"""A `Meaning`, alone for exactly one operand, with `?` for none or one, with `...` for any number. `command`, `find`,
`fd`, `xargs` and `test` take all words from there on."""

Output: TypeAlias = Literal["text", "paths", "names", "numbers", "hashes", "revisions", "lines", "nothing"]
"""What bounds an output: `paths` that exist below its operands, `numbers`, `hashes`, `revisions` (names of commits and
branches, which hold no blank and no colon, but may begin with a dash), `names` (without `/`, may begin with
a dash), `lines` of its standard input as they are, `nothing` at all, or any `text`."""


class Model(BaseModel):
    """Frozen; a key that is not listed is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_enum_values=False)


class Option(Model):
    """One option, in one or several spellings.

    `word` says how it takes its word: `none`, `required` (attached or the next word) or `attached` (optional, and only
    attached: `-U5`, `--color=auto`; the next word is never its own). `second`: it takes a second word behind the first
    (`jq --arg NAME VALUE`), of this meaning. `values` lists the words that are allowed, with `*` for any text in them, all
    where it is empty (but none for a `setting`). `effects` come with the option. `repeats`: it may stand more than once;
    one without a word always may. `replaces_operand`: the first operand is no longer expected (`grep -e PATTERN`).
    `prints` bounds the output in place of the program's (`grep -l`: paths, `grep -n`: text). `below`: what is read is meant with everything below it.
    `reads_hidden`, `reads_ignored`, `reads_untracked`: the program no longer skips such files. `follows_links`: links
    below a folder are followed. `names_only`: it prints no contents of files. `ends`: the program only says something
    about itself, and nothing else of the line counts for it (`--help`). `refuses` lists texts that its word must not
    contain (`%G` in a format of git runs gpg). `entry`: with it the whole call is read anew by another entry of the
    program's folder, which lists this option too (`git branch --list`, `git clean -n`).
    """

    word: Literal["none", "required", "attached"] = "required"
    means: Meaning = "text"
    second: Meaning | None = None
    values: tuple[str, ...] = ()
    effects: frozenset[Effect] = frozenset()
    repeats: StrictBool = False
    replaces_operand: StrictBool = False
    below: StrictBool = False
    reads_hidden: StrictBool = False
    reads_ignored: StrictBool = False
    reads_untracked: StrictBool = False
    follows_links: StrictBool = False
    names_only: StrictBool = False
    prints: Output | None = None
    ends: StrictBool = False
    refuses: tuple[str, ...] = ()
    entry: str = ""


def _from_meaning(value: object) -> object:
    return {"means": value} if isinstance(value, str) else value


OptionEntry: TypeAlias = Annotated[Option, BeforeValidator(_from_meaning)]
"""In TOML either a table, or a meaning alone: an option with a required word of that meaning."""

Decision: TypeAlias = Literal["allow", "ask", "deny"]


class Example(Model):
    """A command line and what the profile `ask` says of it in an empty workspace without a sandbox. `because` is a piece
    of the reason, where that matters."""

    line: str
    decision: Decision
    because: str = ""


class CertainOutput(Model):
    """What bounds the output of a call that has one of `options` (each a spelling, or with its word: `--format=%h`) and
    besides only those in `others`, with operands that fit one of the patterns `operands`. Empty `options`: none is needed;
    empty `operands`: any will do."""

    prints: Output
    options: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()


class Program(Model):
    """A program or a subcommand.

    `like` names another program, or in a folder of subcommands another of them: `flags` and `options` here add to
    those of that entry, every other key given here stands in place of its own; it takes over its subcommands as
    well, and no examples. `effects` are those of a call with listed options alone. `flags` are options without a
    word, each item one option in one or several spellings with blanks between them. `operands` come in order: see
    `OperandMeaning`; `default_operand` is what stands for none; where a command is expected it is the name of a
    program (`env` alone is `printenv`). `option_style`: `gnu` (clusters of letters, `--long=word`, options
    anywhere, `--` ends them), `first` (the same, but the first operand ends them), `single` (as `gnu`, but letters
    are not clustered: `-p -w`), `words` (each option is one whole word with one dash or two, its word the next),
    `tar` (the first word may be a bundle of letters without a dash; where letters are listed without one (`ps a`),
    only those may stand in it), `none` (every word is an operand). `numeric_option`: `-5` is allowed.
    `subcommands`: the first operand or the first two name an entry of their own, in the folder of this program's name
    or in tables that stand here; options in front of them are this entry's. `skips`: files that it does not read
    below a folder unless an option says so. `reads_below`: operands are meant with everything below them. `only_names`:
    name patterns of the files that it reads below a folder; empty: all. `prints`: see `Output`. `changes_paths`: it
    changes or takes away the files that its path filters mean. `options_are_harmless`: no option of it, listed or
    not, does more than read: it writes, runs, sends and waits for nothing. So a pattern may stand where an option
    could, if no name in the workspace looks like one. `certain_outputs`: what some calls of this very entry print,
    in place of `prints`. `remember`: how many words a rule offered for it keeps in front of `*`; 0: none is
    offered. `downloads`: it may fetch code and run it. `forbidden` says why no profile runs it ("it stops the
    machine"). `added_suffixes`: where a file is missing, it reads one with such a suffix behind the name (`zcat a` reads
    `a.gz`); it may also take a name for a pattern. `steered_by` are names of files of a project that decide what it
    runs, reads or writes (`rust-toolchain.toml`): where one is, only a sandbox bounds it. `builtin`: the shell itself does it, so no file
    in `PATH` can stand in its place.
    """

    about: str
    like: str = ""
    effects: frozenset[Effect] = frozenset({Effect.RUNS})
    flags: tuple[str, ...] = ()
    options: dict[str, OptionEntry] = Field(default_factory=dict)
    operands: tuple[OperandMeaning, ...] = ()
    default_operand: str = ""
    option_style: Literal["gnu", "first", "single", "words", "tar", "none"] = "gnu"
    numeric_option: StrictBool = False
    changes_paths: StrictBool = False
    options_are_harmless: StrictBool = False
    subcommands: Annotated[bool, BeforeValidator(bool)] = False
    skips: frozenset[Literal["hidden", "ignored", "untracked"]] = frozenset()
    reads_below: StrictBool = False
    only_names: tuple[str, ...] = ()
    prints: Output = "text"
    certain_outputs: tuple[CertainOutput, ...] = ()
    remember: int = Field(0, ge=0, le=4)
    downloads: StrictBool = False
    builtin: StrictBool = False
    forbidden: str = ""
    added_suffixes: tuple[str, ...] = ()
    steered_by: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
