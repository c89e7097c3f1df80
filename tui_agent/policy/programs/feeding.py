"""L3: the names that one command makes for another: through a pipe into `xargs`, by a substitution, by `find -exec`.

Invariant: only what a known program lists below known folders counts, behind nothing that changes a name; all else is
not certain.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_agent.policy.programs.table import Program
from tui_agent.policy.shell.script import Command, Word
from tui_agent.policy.shell.words import join

_FILTERS = {
    "head": frozenset({"-n", "-q", "-z"}),
    "tail": frozenset({"-n", "-q", "-z"}),
    "sort": frozenset({"-u", "-r", "-n", "-f", "-V", "-z", "-zu", "-uz"}),
    "uniq": frozenset({"-z"}),
    "grep": frozenset({"-v", "-i", "-E", "-F", "-w", "-x", "-z", "-vE", "-Ev", "-iE", "-vi", "-vF", "-vw"}),
    "egrep": frozenset({"-v", "-i"}),
    "fgrep": frozenset({"-v", "-i"}),
    "rg": frozenset({"-v", "-i", "-F", "-w", "-x", "-N"}),
}
"""Programs that let lines through as they are, with the options by which they still do."""
_NAME_TESTS = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_SHORT_LISTERS = {
    ("git", "ls-files"): frozenset({"-z", "-m", "-o", "-c", "-d", "--exclude-standard", "--others", "--cached", "--modified"}),
    ("git", "diff", "--name-only"): frozenset({"-z", "--cached", "--staged", "HEAD", "--diff-filter=d", "--diff-filter=ACM"}),
    ("rg", "--files"): frozenset({"-0", "--null", "--hidden", "-t", "-T", "-g", "--type", "--glob", "--no-ignore", "-u", "-uu"}),
    ("rg", "-l"): frozenset({"-0", "--null", "-i", "-w", "-F", "-n", "-t", "-T", "-g", "--type", "--glob", "--hidden", "-S"}),
    ("rg", "--files-with-matches"): frozenset({"-0", "--null", "-i", "-w", "-F", "-n", "-t", "-T", "-g", "--type", "--glob"}),
    ("fd",): frozenset({"-0", "-t", "f", "-e", "--type", "--extension"}),
    ("git", "diff"): frozenset({"--name-only", "-z", "--cached", "--staged", "--diff-filter=d", "--diff-filter=ACM", "--diff-filter=ACMR"}),
    ("git", "grep", "-l"): frozenset({"-i", "-w", "-F", "-E", "-z", "--"}),
    ("ls",): frozenset({"-1", "-t", "-r", "-S", "-tr", "-1t", "-A", "-a", "-d"}),
}  # fmt: skip
"""Listers whose operands are folders or patterns below where they run, with the options that change nothing."""


@dataclass(frozen=True, slots=True)
class Fed:
    """Patterns of the names. `chosen`: by a test of the name, so that not everything below is meant."""

    patterns: tuple[str, ...]
    chosen: bool
    revisions: bool = False
    """They name commits or branches, not files."""
    called: bool = False
    """They are names that somebody gave: one that begins with a dash would be read as an option."""
    all: bool = False
    """Nothing that lies below is left out."""

    def word(
        self, text: str, program: Program | None, *, whole: bool, around: tuple[str, str] = ("", "")
    ) -> Word:
        """The names as operands of a program, between two texts. `whole`: no name falls into pieces at its blanks."""
        if program is None or not self.patterns:
            return Word(text, None)
        before, behind = around
        if self.revisions:
            known = (
                program.operands == "mixed" and not before.startswith("-") and bool(before or not self.called)
            )
            return Word(text, tuple(f"{before}{name}{behind}" for name in self.patterns) if known else None)
        if before or behind:
            return Word(text, None)
        if self.all and program.operands == "remove":
            return Word(text, self.patterns, glob=True)
        unclear = Word(text, None, maybe=self.patterns)
        shows = program.operands not in ("look", "text", "none") and not program.sparing
        if (shows and not (whole and self.chosen)) or program.trap or program.operands in ("write", "copy"):
            return unclear
        return Word(text, self.patterns, glob=True)


NOTHING = Fed((), chosen=False)
Harmless = Callable[[Command], bool]


def fed(commands: Sequence[Command], harmless: Harmless) -> Fed:
    """The names that a pipeline's first commands print; `harmless` says whether a command only reads."""
    if not commands or not all(harmless(command) for command in commands):
        return NOTHING
    if not all(_passes(command) for command in commands[1:]):
        return NOTHING
    return _listed(commands[0])


def _passes(command: Command) -> bool:
    values = [word.value for word in command.words]
    if not values:
        return False
    known = _FILTERS.get(values[0] or "")
    if known is None or any(redirect.reads for redirect in command.redirects):
        return False
    operands = 0
    for index, value in enumerate(values[1:], 1):
        if value is None:
            return False
        if value in known or (value[:1] == "-" and value[1:].isdigit()):
            continue
        if value.startswith("-"):
            return False
        operands += not (values[index - 1] == "-n" and values[0] in ("head", "tail"))
    return operands <= (1 if "grep" in (values[0] or "") or values[0] == "rg" else 0)


def _listed(command: Command) -> Fed:
    values = [word.value for word in command.words]
    if not values or any(word.values is None for word in command.words):
        return NOTHING
    revisions = _revisions(values)
    if revisions:
        called = not _HASHED.intersection(values) and tuple(values[:2]) not in _HASHES
        return Fed(revisions, chosen=True, revisions=True, called=called or "--abbrev-ref" in values)
    if values[0] == "echo":
        return Fed(tuple(value for value in values[1:] if value), chosen=False, all=True)
    if values[0] == "printf" and len(values) > 2 and values[1] in ("%s\\0", "%s\\n"):
        names = [value for word in command.words[2:] for value in word.values or ()]
        chosen = all(name.rpartition("/")[2].strip("*?.") for name in names)
        plain = _near(command.words[2:]) and not any(name.startswith("-") for name in names)
        return _below(names, command.places, chosen=chosen) if plain else NOTHING
    if values[0] == "find":
        return found(command.words, command.places)
    if values[0] in ("grep", "egrep", "fgrep") and _names_matching(values):
        operands = [word for word in command.words[1:] if not word.text.startswith("-")]
        return _below(["**"], command.places, chosen=False) if _near(operands) else NOTHING
    for head, harmless in _SHORT_LISTERS.items():
        if tuple(values[: len(head)]) == head and (head != ("git", "diff") or "--name-only" in values):
            rest = command.words[len(head) :]
            if any(word.value not in harmless and word.text.startswith("-") for word in rest):
                return NOTHING
            return _below(["**"], command.places, chosen=False) if _near(rest) else NOTHING
    return NOTHING


_GREP_LETTERS = frozenset("rlLniwxFEPZsIh")
_GREP_LONG = frozenset(
    {"--recursive", "--files-with-matches", "--files-without-match", "--null", "--ignore-case", "--include", "--exclude",
     "--exclude-dir", "--word-regexp", "--fixed-strings", "--extended-regexp"}
)  # fmt: skip


def _names_matching(values: Sequence[str | None]) -> bool:
    """Whether a `grep` with these options names files below a folder, and prints nothing else."""
    given = [value for value in values[1:] if value is not None and value[:1] == "-"]
    long = {value.partition("=")[0] for value in given if value.startswith("--")}
    letters = {letter for value in given if not value.startswith("--") for letter in value[1:]}
    names = letters & {"l", "L"} or long & {"--files-with-matches", "--files-without-match"}
    below = "r" in letters or "--recursive" in long
    return bool(names and below) and letters <= _GREP_LETTERS and long <= _GREP_LONG


_REVISIONS = (("git", "rev-list"), ("git", "log"), ("git", "branch"), ("git", "for-each-ref"), ("git", "tag"))
_NAMED = frozenset({"%h", "%H", "%(refname:short)", "%(refname)", "%(objectname)", "%(objectname:short)"})


_CHOOSING = frozenset(
    {"--", "--format", "--pretty", "--all", "--since", "--until", "--after", "--before", "--author", "--grep", "--merges",
     "--no-merges", "--first-parent", "--reverse", "--max-count", "--sort", "--merged", "--no-merged", "--contains",
     "--list", "-l", "-a", "-r", "-n"}
)  # fmt: skip
"""Options that choose which of them are named, or in which order."""


_TELLERS = (
    ("git", "merge-base"),
    ("git", "describe"),
    ("git", "branch", "--show-current"),
    ("git", "symbolic-ref"),
)
"""Commands that print one commit, branch or tag, or nothing."""


def _revisions(values: Sequence[str | None]) -> tuple[str, ...]:
    """What stands for the commits, branches or tags that a command prints; empty where it may print anything else."""
    if _names_revisions(values):
        return ("HEAD",)
    if any(tuple(values[: len(head)]) == head for head in _TELLERS):
        marked = any(
            "=" in (value or "=") and not (value or "").startswith(("--abbrev=", "--match="))
            for value in values
        )
        return () if marked else ("HEAD",)
    if tuple(values[:2]) != ("git", "rev-parse"):
        return ()
    given = [value or "-" for value in values[2:]]
    named = tuple(value for value in given if value not in _PARSED)
    return ("HEAD", *named) if named and not any(value.startswith("-") for value in named) else ()


_HASHES = (("git", "merge-base"), ("git", "rev-list"), ("git", "rev-parse"))
_HASHED = frozenset(
    f"--{option}={form}"
    for option in ("format", "pretty")
    for form in ("%h", "%H", "%(refname)", "%(objectname)", "%(objectname:short)")
)
"""What prints hashes or whole names of references, which begin with no dash."""


_PARSED = frozenset({"--short", "--verify", "--abbrev-ref", "--symbolic-full-name", "-q", "--quiet"})
"""Options of `git rev-parse` with which it prints a commit or a branch, or what it was given."""


def _names_revisions(values: Sequence[str | None]) -> bool:
    """Whether each line that it prints is a commit or a branch, and nothing else."""
    if tuple(values[:2]) not in _REVISIONS:
        return False
    given = [value or "\0" for value in values[2:]]
    formats = [value.partition("=")[2] for value in given if value.startswith(("--format=", "--pretty="))]
    if not set(formats) <= _NAMED or (values[1] in ("log", "branch", "for-each-ref") and not formats):
        return False
    return all(
        value[:1] != "-" or value[1:].isdecimal() or value.partition("=")[0] in _CHOOSING for value in given
    )


def _near(words: Sequence[Word]) -> bool:
    """Whether no word leads out of where the program runs."""
    return not any(
        value.startswith(("/", "~")) or ".." in value.split("/")
        for word in words
        for value in word.values or ()
    )


def found(words: Sequence[Word], places: Sequence[str | None]) -> Fed:
    """What `find` finds: `words` with its name in front, up to the action."""
    starts: list[str] = []
    tests: list[str] = []
    at = 1
    while (
        at < len(words)
        and words[at].values is not None
        and not words[at].text.startswith(("-", "(", "!", "\\"))
    ):
        starts += words[at].values or ()
        at += 1
    if {"-L", "-follow"} & {word.value for word in words}:
        return NOTHING
    negated = narrowed = False
    for index in range(at, len(words)):
        value = words[index].value
        behind = words[index + 1].value if index + 1 < len(words) else None
        if value in ("!", "-not") and behind in _NAME_TESTS:
            narrowed = True
            continue
        negated = negated or value in ("!", "-not", "-o", "-or", ",")
        if value in _NAME_TESTS and index + 1 < len(words) and words[index - 1].value not in ("!", "-not"):
            tests.append((words[index + 1].value or "").rpartition("/")[2])
    options = {word.value for word in words[at:] if word.text.startswith("-")}
    every = options <= _LEAVING_NOTHING_OUT and not negated and not narrowed
    chosen = bool(tests) and not negated and all(test.strip("*?.") for test in tests)
    tails = [f"**/{test}" for test in tests if test] if tests and not negated else ["**"]
    tails += [f"**/{test}" for test in tests if test and negated]
    return _below(
        [f"{start.rstrip('/')}/{tail}" for start in starts or ["."] for tail in tails],
        places,
        chosen=chosen,
        every=every,
    )


_LEAVING_NOTHING_OUT = frozenset({"-type", "-depth", "-mount", "-xdev", "-print", "-print0", "-mindepth"})
"""Options of `find` with which it still finds as good as everything."""


def _below(names: Sequence[str], places: Sequence[str | None], *, chosen: bool, every: bool = False) -> Fed:
    paths = [join(place, name) for place in places for name in names]
    known = [path for path in paths if path is not None]
    return Fed(tuple(dict.fromkeys(known)), chosen, all=every) if len(known) == len(paths) else NOTHING
