"""The schema of the catalog: models of programs, options, operands and examples.

The *meaning* of an operand or value says how the program uses it, for example as a file to read, a host or a number.

Invariant: unknown keys and invalid values are refused.
"""

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool
from pydantic_core import PydanticCustomError


class Effect(StrEnum):
    """An effect of a command on the world, such as deleting files or using the network."""

    READS = "reads"
    WRITES = "writes"
    DELETES = "deletes"
    MOVES_WORK_AWAY = "moves work away"
    ENDS_PROCESSES = "ends processes"
    RUNS = "runs"
    CONNECTS = "connects"
    ACTS_AS_OTHER = "acts as another user"
    PRINTS_SECRETS = "prints secrets"
    CHANGES_GIT_SETTINGS = "changes git settings"
    NEVER_ENDS = "never ends"
    NEEDS_TERMINAL = "needs a terminal"
    LEAVES_PROCESS = "leaves a process behind"


Language: TypeAlias = Literal["awk", "jq", "printf", "sed", "find", "fd", "xargs", "test"]
"""The languages of scripts that `interpreter/languages` can read."""

Meaning: TypeAlias = Literal[
    "text",  # any text; names no file and changes nothing: a search pattern, a format
    "number",  # digits, with an optional sign or unit; nothing else
    "count",  # a number up to 1,000,000 without a unit
    "seconds",  # a number up to 99 without a unit
    "read",  # a file whose content is read
    "list",  # a file or folder whose name, size or dates are shown, but not its content
    "write",  # a file that is created or changed
    "edit",  # a file that is read and changed
    "move",  # a file or folder that is moved, with everything below it
    "delete",  # a file or folder that is deleted
    "enter",  # the folder to work in
    "revision",  # a commit, branch, tag or range of a repository
    "revision or path",  # either; after `--` only a path. A leading dash is never certain: see git blame
    "path filter",  # a pattern or path that selects tracked files (a git pathspec)
    "include",  # a name pattern: only matching files are read
    "exclude",  # a name pattern: matching files and folders are skipped
    "exclude folder",  # a name pattern: matching folders are skipped with everything below them, but no files
    "file list",  # a file with the names of further files to read
    "host",  # a host or an address to connect to
    "process",  # a process that is ended; a background job of the same line needs no approval
    "program",  # the name of a program that is looked up, not run
    "variable",  # the name of a variable, which is shown
    "shell variable",  # the name of a shell variable that is set or unset
    "assignment",  # NAME=value, for the environment of the command that follows
    "setting",  # NAME=value that configures the program itself
    "command",  # this word and all after it are a command to run
    "shell script",  # a bash script to run
    "code",  # a script in another language to run
    "script file",  # a file with code to run; if this operand is missing, the code comes from standard input
    Language,
]


def meaning_of(operand: str) -> str:
    """Return an operand's meaning without the suffix `?` or `...` ("read" for "read...")."""
    return operand.removesuffix("..." if operand.endswith("...") else "?")


def _check_operand(operand: str) -> str:
    if meaning_of(operand) not in get_args(Meaning):
        known = ", ".join(f"'{meaning}'" for meaning in get_args(Meaning))
        raise PydanticCustomError(
            "meaning",
            "write one of {known}; add ? if the operand is optional, or ... if it can occur any number of times",
            {"known": known},
        )
    return operand


OperandMeaning: TypeAlias = Annotated[str, AfterValidator(_check_operand)]
"""An operand as it is written in TOML.

Examples: "read" is one operand, "read?" an optional operand, and "read..." any number of operands. An operand with the
meaning `command`, `find`, `fd`, `xargs` or `test` takes all remaining words.
"""

Output: TypeAlias = Literal[
    "text", "paths", "names", "number", "numbers", "hashes", "revisions", "lines", "nothing"
]
"""Kind of text that a program can print.

`text`: any text.
`paths`: paths that exist below the operands.
`names`: names without `/`, perhaps with a leading dash.
`number`: digits, or nothing.
`revisions`: names of commits and branches: no blank, no colon, perhaps a leading dash.
`lines`: unchanged lines of standard input.
"""


class Model(BaseModel):
    """Base class of the catalog's models: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_enum_values=False)


class Option(Model):
    """One option of a program, in one or several spellings.

    `word`: how the option takes a value: `none`, `required` (attached or the next word) or `attached` (optional, and
    never the next word: `-U5`, `--color=auto`).
    `means`: the meaning of the value.
    `second`: the meaning of a second value after the first (`jq --arg NAME VALUE`).
    `values`: the allowed values, in which `*` matches any text. If empty, every value is allowed, or no value if
    `means` is `setting`.
    `effects`: the effects that the option adds to the program's own effects.
    `harmless_values`: with one of these values, the option adds no effects (`--watch=false`).
    `repeats`: the option can be given more than once. An option without a value can always be repeated.
    `replaces_operand`: with the option, the first operand is no longer expected (`grep -e PATTERN`).
    `prints`: what the output can contain, instead of the program's `prints` (`grep -l`: paths, `grep -n`: text).
    `below`: with the option, the program reads everything below the folders in its operands (`grep -r`).
    `reads_hidden`, `reads_ignored`, `reads_untracked`: with the option, the program also reads hidden, ignored or
    untracked files.
    `follows_links`: with the option, the program follows links below a folder.
    `names_only`: with the option, the program prints no file contents.
    `ends`: the program only prints information about itself and ignores the other arguments (`--help`).
    `refuses`: texts that the value must not contain (`%G` in a format makes git run gpg).
    `entry`: another entry in the program's folder. With the option, the whole call is parsed again by this entry (`git
    branch --list`, `git clean -n`). The other entry lists this option too.
    """

    word: Literal["none", "required", "attached"] = "required"
    means: Meaning = "text"
    second: Meaning | None = None
    values: tuple[str, ...] = ()
    effects: frozenset[Effect] = frozenset()
    harmless_values: tuple[str, ...] = ()
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
"""An option as written in TOML: a table, or the meaning of its required value as text.

Example: `--output = "write"` is short for `--output = { means = "write" }`.
"""

Decision: TypeAlias = Literal["allow", "ask", "deny"]


class Example(Model):
    """A command line with its expected verdict under the profile `ask`. A table of programs lists such examples.

    The command line is judged in an empty workspace without a sandbox.

    `because`: a part of the expected reason. If empty, any reason is accepted.
    """

    line: str
    decision: Decision
    because: str = ""


class CertainOutput(Model):
    """The kind of text that certain calls of a program can print. These calls meet the three conditions below.

    `prints`: the kind of text.
    `options`: first condition: the call has one of these options (a spelling, or with a value: `--format=%h`). If
    empty, no option is needed.
    `others`: second condition: every further option of the call is in this list.
    `operands`: third condition: each operand matches one of these patterns. If empty, any operand is allowed.
    """

    prints: Output
    options: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()


class Program(Model):
    """A known program or subcommand, as a table of the catalog describes it.

    `about`: what the program does, in one sentence.
    `like`: the entry to inherit from: another program, or another subcommand of the same folder. A user's entry can
    inherit from tui-agent's entry of the same name. `flags` and `options` are added to the inherited ones. Every other
    key replaces the inherited value. Subcommands are inherited, examples are not.
    `effects`: the effects of a call if all its options are listed in the entry.
    `flags`: options without a value. Each item is one option, with its spellings separated by blanks.
    `options`: options with a value. Maps the spellings of an option to the meaning of its value, or to a table with the
    keys of an option.
    `operands`: the meanings of the operands in order, with `?` for an optional operand and `...` for any number.
    `default_operand`: the operand that the program uses if the call has none (`ls` lists `.`). If the operand is a
    command, this is the name of a program (`env` alone runs `printenv`).
    `option_style`: `gnu` (clusters of letters, `--long=value`, options anywhere, `--` ends them), `first` (like `gnu`,
    but the first operand ends the options), `single` (like `gnu`, without clusters: `-p -w`, `-std=c99`), `words` (an
    option is a whole word with one or two dashes, and the next word is its value), `tar` (the first word can be a
    bundle of letters without a dash; some entries list the allowed letters, as in `ps a`), or `none` (every word is an
    operand).
    `numeric_option`: a number such as `-5` is an allowed option (`head -5`).
    `subcommands`: the first one or two operands are a subcommand with an entry of its own. That entry is a file in the
    folder with the program's name, or a table nested in the program's table. The program's own entry describes the
    options before the subcommand. If the program's own entry has `operands`, it also describes the calls without a
    known subcommand (`vitest src/a.test.ts`).
    `skips`: kinds of files below a folder that the program reads only with a special option: `hidden`, `ignored` (by
    `.gitignore`), `untracked`.
    `reads_below`: the program reads everything below its operands. The tables of users and plugins must set this key if
    an operand or the value of an option means `read` or `list`.
    `only_names`: name patterns of the files that the program reads below a folder. If empty, it reads all files.
    `prints`: what the output can contain, so that `$(…)` can be an operand: `paths` that exist below the operands,
    `names`, one `number`, `numbers`, `hashes`, `revisions`, unchanged `lines` of standard input, `nothing`, or any `text`.
    `changes_paths`: the program changes or deletes the files that match its path filters.
    `options_are_harmless`: no option, listed or not, does more than read. A pattern such as `*` is then allowed as an
    operand, unless it matches a file whose name looks like an option.
    `certain_outputs`: what certain calls can print. Each table has conditions for a call (`options`, `others`,
    `operands`). Its own `prints` replaces the `prints` of the program for such a call. Not inherited.
    `remember`: the number of words before `*` in the rule that an approval offers (2 for `git log *`). If 0, no rule is
    offered for the program.
    `downloads`: the program can download code and run it.
    `local_programs`: a folder with installed programs, such as `node_modules/.bin`. Nothing is downloaded if this
    folder contains the command that the program is told to run. The folder is searched where the program runs and in
    all parents.
    `forbidden`: the reason why no profile runs the program ("it stops the machine").
    `added_suffixes`: suffixes that the program adds to the name of a missing file (`zcat a` reads `a.gz`). Such a
    program might expand patterns itself.
    `steered_by`: names of project files that decide what the program runs, reads or writes (`rust-toolchain.toml`).
    If such a file exists, only a sandbox limits what the program does.
    `builtin`: the program is a shell builtin, so no file in `PATH` can replace it.
    `examples`: command lines with the verdict of the profile `ask` without a sandbox: tables with `line`, `decision`
    (`allow`, `ask`, `deny`) and `because`, a part of the reason.
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
    local_programs: str = ""
    builtin: StrictBool = False
    forbidden: str = ""
    added_suffixes: tuple[str, ...] = ()
    steered_by: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
