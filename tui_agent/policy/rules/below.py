"""L3: the files with secrets that a command line reads without naming them: by a folder with all below, or by a pattern.

Invariant: pure. A line that reads none of them for certain is not held to read them; one of which that is not certain
names them, as far as it can be told here.
"""

import posixpath
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tui_agent.policy.places.paths import Place, place
from tui_agent.policy.places.shapes import same_name
from tui_agent.policy.programs.git_words import left_out_of
from tui_agent.policy.programs.part import GIT, Part
from tui_agent.policy.programs.runs import RunReport, from_cwd
from tui_agent.policy.shell.words import join
from tui_agent.ports.environment import SecretFile
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs

_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"})
"""Programs that read the folder they run in where they are given none."""
_ALL_BY = frozenset({"grep", "egrep", "fgrep", "zgrep"})
"""Those of them that read folders only when told so."""
_RECURSIVE = frozenset({"--recursive", "--dereference-recursive", "--directories=recurse", "recurse"})
_PASSING = frozenset({"rg", "ag", "fd", "fdfind"})
"""Those that pass over hidden and ignored files when not told otherwise."""
_NAMING = frozenset({"l", "L", "files", "files-with-matches", "files-without-match"})
"""Options by which a search prints names."""
_LEAVES = ("--exclude", "--exclude-dir", "--ignore", "--ignore-dir")
_CHOOSES = ("--include",)
_GLOBS = ("-g", "--glob", "--iglob")
_CHOOSING = ("--exclude", "--ignore", "--include", "-g", "--iglob")
"""What stands in each of those."""
_UNQUOTED = str.maketrans("", "", "'\"\\")


_TAKERS = frozenset({"git add", "git archive", "ln"})
"""Commands that take what they name, with all below, into something else, or give it another name."""
_IN_PLACE = frozenset(
    {"-i", "-w", "--in-place", "--write", "-pi", "-ni", "-pie", "-i.bak", "-pi.bak", "--fix", "format"}
)
_REWRITERS = {
    **dict.fromkeys(("autopep8", "yapf", "prettier", "gofmt", "clang-format", "shfmt", "perl", "ruff", "eslint"), _IN_PLACE),
    **dict.fromkeys(("black", "isort", "rustfmt", "dos2unix", "git checkout", "git restore", "git rm", "git mv", "git clean"), frozenset({""})),
}  # fmt: skip
"""Commands that change the files which they name, or all below the folders, with the options of which one must be there."""
_SWITCHING = frozenset({"git checkout"})
"""Those that change nothing where they only begin a branch."""
_CHECKING = frozenset({"--check", "--check-only", "--diff", "--cached"})
"""Options by which they change none."""
_EVERYTHING = frozenset({"-A", "--all", "-u", "--update"})
"""Options by which `git add` takes all there is."""
_RUNNERS = frozenset({"fd", "fdfind"})
_RUNS = frozenset({"-x", "--exec", "-X", "--exec-batch"})
"""Options by which those run a command on what they find."""
_SIGNS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class _Reach:
    """What a program reads of what lies below: by its options."""

    hidden: bool
    ignored: bool
    untracked: bool = True

    def has(self, secret: SecretFile) -> bool:
        dotted = any(name.startswith(".") for name in secret.name.split("/"))
        return (
            (self.hidden or not dotted)
            and (self.ignored or not secret.ignored)
            and (self.untracked or secret.in_git)
        )


_ALL = _Reach(hidden=True, ignored=True)


def read_below(effect: Runs, report: RunReport, facts: PolicyFacts) -> tuple[str, ...]:
    """The names of those that it reads."""
    if not facts.secrets:
        return ()
    listed = [_reach(part) for part in report.parts if _lists(part)]
    found: dict[str, None] = {}
    for part in report.parts:
        for secret in facts.secrets:
            if secret.name not in found and _reads(effect, part, secret, listed, facts):
                found[secret.name] = None
    return tuple(found)


def _reads(
    effect: Runs, part: Part, secret: SecretFile, listed: Sequence[_Reach], facts: PolicyFacts
) -> bool:
    reach, below = _reach(part), _goes_below(part)
    if _left_out(part, secret):
        return False
    plain = [path for path in part.reads if path not in part.patterns]
    if part.name == "git grep" or (not plain and part.program in _SEARCHERS and not part.patterns):
        plain = [each for each in part.places if each is not None]
    for path in plain if below and reach.has(secret) else ():
        at = place(from_cwd(effect, path), facts).relative
        if at is not None and (at == "" or secret.name.startswith(f"{at}/")):
            return True
    for path in (*part.patterns.intersection(part.reads), *part.may_read):
        shape = posixpath.normpath(from_cwd(effect, path)).split("/")
        fed = "**" in shape
        if fed and listed and not any(one.has(secret) for one in listed):
            continue
        if _fits(shape, _names(secret), below=below and part.program not in _PASSING):
            return True
    return False


def finds_secret(at: Place, facts: PolicyFacts) -> str | None:
    """The first file with secrets, or folder of such, that a shell's pattern finds in the workspace."""
    shape = at.relative.split("/") if at.relative else []
    return next(
        (
            one.name
            for one in facts.secrets
            if any(
                _fits(shape, names, below=False) for names in (_names(one), one.name.rstrip("/").split("/"))
            )
        ),
        None,
    )


def folders_read(part: Part) -> Sequence[str]:
    """The folders of which it reads what lies below, patterns among them; also files, where it may name either."""
    return tuple(dict.fromkeys((*_folders_read(part), *part.shown_below)))


def _folders_read(part: Part) -> Sequence[str]:
    if part.name == "git grep":
        behind = part.words[part.words.index("--") + 1 :] if "--" in part.words else ()
        named = [word for word in behind if word is not None]
        return _from_places(part, named if named and None not in behind else [""])
    if part.program in _RUNNERS and _RUNS.intersection(part.words):
        return _from_places(part, [""])
    if part.name in _TAKERS:
        shaped = any(word is not None and word.startswith(":") for word in part.words)
        every = part.name == "git archive" or shaped or _EVERYTHING.intersection(part.words)
        return (*part.reads, *part.looks, *_from_places(part, [""] if every else []))
    if part.program in _SEARCHERS and not part.harmless:
        return (*part.reads, *_from_places(part, [""]))
    if not _goes_below(part):
        return ()
    operands = [path for path in part.reads if path not in part.patterns]
    chosen = any(option in (*_CHOOSES, *_GLOBS) for option, _ in _options(part))
    if part.program in _SEARCHERS and not operands and (chosen or not part.patterns):
        return (*part.reads, *_from_places(part, [""]))
    return part.reads


def _from_places(part: Part, names: Sequence[str]) -> Sequence[str]:
    found = (join(place, name) for place in part.places for name in names)
    return [path for path in found if path is not None]


def rewritten(part: Part) -> Sequence[str]:
    """The files and folders that it changes where it only seems to name them, or does not name them at all."""
    name = part.program.rpartition("/")[2]
    whole = (*part.changed_below, *part.filled)
    needed = _REWRITERS.get(part.name) or _REWRITERS.get(name)
    words = {"", *part.words}
    if part.harmless or needed is None or needed.isdisjoint(words) or not _CHECKING.isdisjoint(words):
        return whole
    if part.name in _SWITCHING and not whole:
        return ()
    return tuple(dict.fromkeys((*part.reads, *part.looks, *whole)))


def told(part: Part) -> Sequence[str]:
    """Further words of a command that does more than read that may be paths: `dd if=a`."""
    if part.harmless:
        return ()
    pieces = [word.partition("=")[2] for word in part.words[1:] if word is not None and word[:1] != "-"]
    return _from_places(part, [piece for piece in pieces if piece])


def left_out(part: Part, rule: str) -> bool:
    """Whether its options leave out what a rule's path means, or choose others, or it passes over such files."""
    names = [name for name in rule.split("/") if name not in ("", ".")]
    if any(_spared_by_git(part, word, names) for word in part.words):
        return True
    last = names[-1] if names else "**"
    chosen: list[bool] = []
    for _, shape, leaves in _choices(part):
        if leaves and any(
            name == shape or (not _SIGNS & set(name) and fnmatchcase(name, shape)) for name in names
        ):
            return True
        if not leaves:
            chosen.append("/" in shape or "{" in shape or same_name(shape, last))
    hidden = part.program in _PASSING and not _reach(part).hidden and any(n.startswith(".") for n in names)
    return hidden or (bool(chosen) and not any(chosen))


def _spared_by_git(part: Part, word: str | None, names: Sequence[str]) -> bool:
    """Whether a word of git's (`:!private`) leaves out what a rule's path means, from the top on."""
    left = left_out_of(word) if word is not None and part.program == GIT and part.places == ("",) else None
    if not left or not names:
        return False
    plain = left.rstrip("/").removesuffix("/**").removesuffix("/*").split("/")
    if not _SIGNS & set("".join(plain)):
        return plain == list(names[: len(plain)])
    return names[0] == "**" and left in (f"*{names[-1]}", f"**/{names[-1]}") and len(names) == 2


def _names(secret: SecretFile) -> list[str]:
    """The names on the way to it; of a folder, to any file in it."""
    return (f"{secret.name}any" if secret.name.endswith("/") else secret.name).split("/")


def _lists(part: Part) -> bool:
    """Whether it prints names of files."""
    if part.program == "git":
        return part.name in ("git ls-files", "git diff")
    if part.program in _SEARCHERS:
        long = {word[2:] for word in part.words if word is not None and word.startswith("--")}
        return bool(_NAMING & (_letters(part) | long))
    return part.program in ("find", "ls", "fd", "fdfind")


def _goes_below(part: Part) -> bool:
    if part.program == "git":
        return "--no-index" in part.words or "--untracked" in part.words
    if part.program in _ALL_BY:
        return any(word in _RECURSIVE for word in part.words) or bool(_letters(part) & {"r", "R"})
    return part.deep


def _reach(part: Part) -> _Reach:
    words = {word for word in part.words if word is not None}
    if part.program == "git":
        if words & {"--no-index"}:
            return _ALL
        others = bool(words & {"-o", "--others", "--untracked"})
        spared = bool(words & {"--exclude-standard", "--untracked"})
        return _Reach(hidden=True, ignored=not spared, untracked=others)
    if part.program == "ls":
        return _Reach(hidden=bool(_letters(part) & {"a", "A"} or "--all" in words), ignored=True)
    if part.program not in _PASSING:
        return _ALL
    letters = _letters(part)
    often = sum(word.count("u") for word in words if word.startswith("-") and not word.startswith("--"))
    hidden = "--hidden" in words or "-." in words or often > 1 or (part.program != "rg" and "H" in letters)
    ignored = (often > 0 or any(word.startswith(("--no-ignore", "--unrestricted")) for word in words)) or (
        part.program != "rg" and bool(letters & {"I", "U", "a"})
    )
    return _Reach(hidden=hidden or (part.program == "ag" and often > 0), ignored=ignored)


def _letters(part: Part) -> set[str]:
    """The letters of its short options."""
    short = [word for word in part.words[1:] if word is not None and word[:1] == "-" and word[1:2] != "-"]
    return {letter for word in short for letter in word[1:]}


def _left_out(part: Part, secret: SecretFile) -> bool:
    """Whether its options leave the file out by its name, or choose others."""
    names = _names(secret)
    chosen: list[bool] = []
    for option, shape, leaves in _choices(part):
        meant = names[:-1] if option.endswith("-dir") else names if leaves else names[-1:]
        fits = any(fnmatchcase(name, shape) for name in meant) or fnmatchcase(secret.name, shape)
        if leaves and fits:
            return True
        if not leaves:
            chosen.append(fits)
    return bool(chosen) and not any(chosen)


def _choices(part: Part) -> Iterator[tuple[str, str, bool]]:
    """Options that choose by names, each with its bare pattern, and whether it leaves out what fits or chooses it."""
    for option, value in _options(part):
        leaves = option in _LEAVES
        if option in _GLOBS:
            leaves, value = value.startswith("!"), value.removeprefix("!")
        yield option, value.strip("/").removeprefix("**/").removesuffix("/**"), leaves


def _options(part: Part) -> Iterator[tuple[str, str]]:
    """Options that choose among what is below by names, each with its pattern."""
    bare = part.text.translate(_UNQUOTED)
    if not any(one in bare for one in _CHOOSING):  # to part a line into words takes long
        return
    try:
        words = shlex.split(part.text)
    except ValueError:
        return
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in (*_LEAVES, *_CHOOSES, *_GLOBS):
            yield option, value if equals else "".join(words[at + 1 : at + 2]) or "*"
        elif part.program == "rg" and option.startswith("-g") and len(option) > 2:
            yield "-g", word[2:]


def _fits(shape: Sequence[str], names: Sequence[str], *, below: bool) -> bool:
    """Whether a shell's pattern names the file, or, where all below is meant, a folder that it lies in."""
    if not shape:
        return not names or below
    if not names:
        return False
    if shape[0] == "**":
        return _fits(shape[1:], names, below=True) or any(
            _fits(shape[1:], names[at:], below=below) for at in range(1, len(names))
        )
    if names[0].startswith(".") and not shape[0].startswith((".", "[.")):
        return False
    return fnmatchcase(names[0], shape[0]) and _fits(shape[1:], names[1:], below=below)
