"""L3: what a command changes or shows without naming it: all below the folder that it runs in, or all that a repository
holds; and the folders that it fills.

Invariant: pure; what is found here never makes a command less. Which programs do so, and by which words, is told in
wholes.toml.
"""

import posixpath
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import TypeAlias, cast

from tui_agent.policy.programs.git_words import add_named, left_out_of
from tui_agent.policy.programs.part import GIT, Part
from tui_agent.policy.programs.table import Program
from tui_agent.policy.shell.script import ARBITRARY, Word
from tui_agent.policy.shell.words import join

_VERSIONED = re.compile(r"(?<=[a-z])[\d.]+$")
_HASH = re.compile(r"[0-9a-f]{4,64}", re.IGNORECASE)
_MODULE = re.compile(r"-[A-Za-ln-z]*m([\w.]*)")
"""The option of python in front of a module's name, in a cluster or glued to it."""
_SHORTEST = 3
"""Many programs know an option by its beginning, which has at least two letters where it is one."""
_SUFFIX = re.compile(r"[^/]\.(?:[a-z]{1,3}\d?|html|json|toml|yaml|lock|java|scss)$", re.IGNORECASE)
_NO_FILES = (".git", ".com", ".org", ".net", ".io", ".dev", ".d", ".app")
_OUTPUTS = ("-o", "-O", "-out")
_WRITTEN = re.compile(
    r"out|dest|target|dir\b|prefix|folder|into|save|export|report|path\b|xml|log-?file|temp|cache|emit-bin"
)
"""Names of options that may say where something is written."""
_SPARED = re.compile(
    r"git-dir|work-tree|ignore|exclude|include|without|root|source|input|from|search|cov$|python-?path"
)
_STEERING = re.compile(
    r"alias\.|filter\.|pager\.|credential\.|gpg\.|include|difftool\.|mergetool\.|guitool\.|sequence\.editor|url\.|http\.proxy"
    r"|diff\..*(?:command|textconv)|diff\.external|merge\..*driver|core\.(?:pager|editor|hookspath|sshcommand|fsmonitor|askpass|gitproxy"
    r"|attributesfile|worktree)|interactive\.difffilter|submodule\..*update|remote\..*(?:uploadpack|receivepack|vcs)|init\.templatedir",
    re.IGNORECASE,
)
"""Settings by which git runs programs."""
_NEW = {
    "git checkout": ("-b", "-B", "--orphan"),
    "git switch": ("-c", "-C", "--create", "--force-create"),
}
"""Options that begin a branch where the work tree stands; a word behind its name says that it begins elsewhere."""
_UNLIMITED = frozenset({"git switch", "git merge", "git pull", "git rebase", "git cherry-pick", "git revert", "git am", "git apply", "git bisect", "git worktree add", "git format-patch", "git fast-export", "git bundle", "git send-email"})  # fmt: skip
"""Commands of git that no path limits."""
_CALLED_AS_SOURCE = frozenset({"clone", "repo clone", "gist clone", "submodule add"})
_ONLY_PATHS = frozenset({"git clean", "git restore"})
"""Commands of git whose operands are paths, and never commits."""
_LEFT_OUT = ("-e", "--exclude", "-s", "--source")
_HOLDS_FILES = "git cat-file"
"""It shows a file where it is given its hash, and no file by the name of a commit."""


@dataclass(frozen=True, slots=True)
class _Whole:
    """One entry; the keys are told at the head of wholes.toml."""

    changes: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    saves: tuple[str, ...] = ()
    named: bool = False
    fills: int = 0


_Entry: TypeAlias = Mapping[str, Sequence[str] | bool | int]


@cache
def _table() -> Mapping[str, Mapping[str, _Whole]]:
    text = Path(__file__).with_name("wholes.toml").read_text(encoding="utf-8")
    found = cast("Mapping[str, Mapping[str, _Entry]]", tomllib.loads(text))
    return {
        program: {sub: _whole(subs[sub]) for sub in sorted(subs, key=len, reverse=True)}
        for program, subs in found.items()
    }


_LISTS = ("changes", "shows", "spares", "at", "reads", "saves")


def _whole(entry: _Entry) -> _Whole:
    unknown = set(entry) - {*_LISTS, "named", "fills"}
    if unknown:
        raise ValueError(f"wholes.toml: unknown keys: {', '.join(sorted(unknown))}")
    lists = (tuple(cast("Sequence[str]", entry.get(key, ()))) for key in _LISTS)
    changes, shows, spares, at, reads, saves = lists
    fills = cast(int, entry.get("fills", 0))
    return _Whole(changes, shows, spares, at, reads, saves, bool(entry.get("named")), fills)


def note_wholes(part: Part, name: str, words: Sequence[Word]) -> None:
    """Note in the part the folders that the command changes, shows or fills. `words` stand behind the program's name."""
    program, words = _module(name.partition(" ")[0], words)
    known = _table().get(_VERSIONED.sub("", program)) or _table().get(program)
    found = _entry(known, name, words) if known is not None else None
    if found is None:
        return
    sub, entry = found
    told = f"{program} {sub}" if program == GIT else ""
    words = _behind(words, sub)
    given = set(_given(words))
    if _does(entry.changes, entry.spares, given) and not _begins_here(told, words):
        part.changed_below += _below(part, entry, told, words, shown=False)
    if _does(entry.shows, entry.spares, given) and not _told_by_name(told, words):
        part.shown_below += _below(part, entry, told, words, shown=True)
    if told == f"{GIT} config" and _steers(words):
        everywhere = any(word.value == "--global" for word in words)
        part.filled += ["~/.gitconfig"] if everywhere else _joined(part, [".git/config"])
    if entry.fills:
        part.filled += _joined(part, _filled(entry, words, sub))
    if _does(entry.saves, entry.spares, given):
        part.filled += _joined(part, [*_saved(words), *_words_of(entry.at, words)])
    part.add(part.reads, [Word(name, (name,)) for name in _words_of(entry.reads, words)])


def _steers(words: Sequence[Word]) -> bool:
    """Whether `git config` sets what decides which programs git runs, or which further settings it reads."""
    operands = [word.value or "" for word in words if not (word.value or "").startswith("-")]
    named = [value for value in operands if "." in value]
    return len(operands) > 1 and bool(named) and _STEERING.match(named[0]) is not None


def _module(program: str, words: Sequence[Word]) -> tuple[str, Sequence[Word]]:
    """`python -m black` is `black`, where the table knows that name; `-um x` and `-mx` are `-m x`."""
    if not program.startswith("python"):
        return program, words
    plain: list[Word] = []
    for word in words:
        found = _MODULE.fullmatch(word.value or "")
        pieces = ("-m", found[1]) if found is not None else ()
        plain += [Word(piece, (piece,)) for piece in pieces if piece] or [word]
    values = [word.value for word in plain]
    at = values.index("-m") + 1 if "-m" in values[:-1] else 0
    name = (values[at] if at else "") or ""
    return (name, plain[at + 1 :]) if name in _table() else (program, plain)


def note_told(part: Part, program: Program | None) -> None:
    """Note in the part the paths among its words that it may well write to: those behind options and variables that read
    like outputs, and what a program that may do anything is told. An interpreter's are its scripts' own, and of what a program starts
    the parts behind it tell."""
    if part.harmless:
        return
    words = [Word(word or "…", None if word is None else (word,)) for word in part.words[1:]]
    told = _words_of(_OUTPUTS, words) + [
        found
        for word, behind in zip_longest(words, words[1:])
        if (found := _output(word.value, behind)) is not None
    ]
    for setting in (*part.settings, *(word.value or "" for word in words)):
        name, equals, given = setting.partition("=")
        if equals and name.isidentifier() and _WRITTEN.search(name.casefold()) and not _SPARED.search(name):
            told.append(given)
    told += [piece for one in told for sign in ":=" if sign in one for piece in one.split(sign)]
    plain = program is not None and not (program.code or program.sub or program.wraps is not None)
    if plain and program is not None and program.does == ARBITRARY and not part.starts:
        told += [value for word in words if (value := word.value or "")[:1] != "-"]
    known = {*part.reads, *part.writes, *part.removes}
    part.told_of += [path for path in _joined(part, [one for one in told if one]) if path not in known]


def _output(value: str | None, behind: Word | None) -> str | None:
    """The word of an option whose name says that something is written there."""
    option, equals, given = (value or "").partition("=")
    name = option.casefold()
    if name[:1] != "-" or len(name) < 4 or not _WRITTEN.search(name) or _SPARED.search(name):
        return None
    return given if equals else (behind.value if behind is not None else None)


def file_like(path: str) -> bool:
    """Whether a path reads like that of a file, by how its name ends."""
    return _SUFFIX.search(path) is not None and not path.lower().endswith(_NO_FILES)


def _entry(known: Mapping[str, _Whole], name: str, words: Sequence[Word]) -> tuple[str, _Whole] | None:
    """The entry of the longest subcommand that it is, by the name that was recognised or by its first words."""
    behind = name.partition(" ")[2]
    plain = [word.value or "" for word in words if not (word.value or "").startswith("-")][:2]
    every = [word.value or "" for word in words]
    for sub in known:  # the longest first
        pieces = sub.split()
        if sub.startswith("-"):
            met = any(every[at : at + len(pieces)] == pieces for at in range(len(every)))
        else:
            met = plain[: len(pieces)] == pieces
        if met or sub == behind or f"{behind} ".startswith(f"{sub} "):
            return sub, known[sub]
    return None


def _behind(words: Sequence[Word], sub: str) -> Sequence[Word]:
    """The words behind those of the subcommand."""
    last = sub.rpartition(" ")[2]
    at = next((at for at, word in enumerate(words) if last and word.value == last), None)
    return words if at is None else words[at + 1 :]


def _given(words: Sequence[Word]) -> Iterator[str]:
    """What may stand in the table: whole words, options without what is behind `=`, and each letter of short ones."""
    for word in words:
        value = word.value or ""
        yield value
        yield value.partition("=")[0]
        if value[:1] == "-":
            yield from (f"-{letter}" for letter in takewhile(str.isalpha, value[1:].lstrip("0123456789")))
        elif word is words[0] and value.isalpha():
            yield from (f"-{letter}" for letter in value)  # the bundle of `tar xf`


def _does(by: Collection[str], spares: Collection[str], given: Collection[str]) -> bool:
    """Whether one of the words is given. "" stands for none: then a word that spares counts, unless another is given too."""
    long = tuple(word for word in given if word.startswith("--") and len(word) > _SHORTEST)
    told = any(word in given or any(map(word.startswith, long)) for word in by if word)
    spared = any(word in given for word in spares)
    return (told and ("" in by or not spared)) or ("" in by and not spared)


def _below(part: Part, entry: _Whole, told: str, words: Sequence[Word], *, shown: bool) -> Sequence[str]:
    """The folders and files below which it does so; patterns among them are marked."""
    at = _words_of(entry.at, words)
    if at:
        return _joined(part, at)
    operands = [word for word in words if entry.named and _may_be_path(word)]
    if told and entry.named:
        return _joined(part, [word.value or "." for word in operands[:1]])
    found = Part(part.text, part.program, places=part.places)
    if told:
        named = _limits(told, words)
        if not named:
            return _joined(part, ["."])
        add_named(found, named, ())
    elif operands:
        found.add(found.reads, [word for word in operands if word.values is not None])
    else:
        return _joined(part, ["."])
    part.patterns |= found.patterns
    return found.reads


def _may_be_path(word: Word) -> bool:
    value = word.value if word.value is not None else word.text
    return value[:1] != "-" and not value.isdigit() and ":" not in value


def _joined(part: Part, names: Sequence[str]) -> Sequence[str]:
    found = (join(place, name) for place in part.places for name in names)
    return [path for path in found if path is not None]


def _limits(told: str, words: Sequence[Word]) -> list[Word]:
    """The words of git's that name paths for certain."""
    values = [word.value for word in words]
    if told in _UNLIMITED:
        return []
    if "--" in values:
        named = list(words[values.index("--") + 1 :])
    elif told in _ONLY_PATHS:
        behind = zip(["", *values], words, strict=False)
        named = [word for before, word in behind if (word.value or "-")[0] != "-" and before not in _LEFT_OUT]
    else:
        named = [word for word in words if _reads_like_path(word.value)]
    return [word for word in named if left_out_of(word.value or "") is None]


def _reads_like_path(value: str | None) -> bool:
    """Whether a word without `--` in front is a path rather than a commit or a branch."""
    if value is None or value[:1] == "-" or ":" in value or ".." in value.removeprefix("../"):
        return False
    return value.endswith("/") or value.startswith(("./", "../")) or value == "." or file_like(value)


def _begins_here(told: str, words: Sequence[Word]) -> bool:
    """Whether git only begins a branch, with the files as they are."""
    names = _NEW.get(told, ())
    values = [word.value or "" for word in words]
    at = next((at for at, value in enumerate(values) if value in names), None)
    return at is not None and not [value for value in values[at + 2 :] if not value.startswith("-")]


def _told_by_name(told: str, words: Sequence[Word]) -> bool:
    """Whether git shows what its words name and nothing else: `HEAD:a/b`, or, of a file's content, no hash."""
    operands = [word.value for word in words if not (word.value or "").startswith("-")]
    if not told or not operands:
        return False
    if told == _HOLDS_FILES:
        return not any(value is None or _HASH.fullmatch(value) for value in operands)
    return told == "git show" and all(value is not None and ":" in value[1:] for value in operands)


def _filled(entry: _Whole, words: Sequence[Word], sub: str) -> Sequence[str]:
    """The folders that options and one of its operands name; where `git clone` is given none, the address's last name."""
    named = _words_of(entry.at, words)
    values = [word.value or "" for word in words if not (word.value or "").startswith("-")]
    last = values[-1] if values and sub in _CALLED_AS_SOURCE else ""
    if "/" in last or ":" in last:
        named.append(posixpath.basename(last.rstrip("/").replace(":", "/")).removesuffix(".git"))
    # an option's word may stand among them
    return [*named, values[entry.fills - 1], values[-1]] if len(values) >= entry.fills else named


def _saved(words: Sequence[Word]) -> list[str]:
    """The names at the ends of addresses."""
    paths = (
        posixpath.basename((word.value or "").partition("?")[0].rstrip("/"))
        for word in words
        if "/" in (word.value or "")
    )
    return [path for path in paths if path]


def _words_of(options: Collection[str], words: Sequence[Word]) -> list[str]:
    """What stands behind these options, glued to them or not."""
    found: list[str] = []
    values = [word.value or "" for word in words]
    for at, value in enumerate(values):
        for option in options:
            if value == option:
                found += values[at + 1 : at + 2]
            elif value.startswith(f"{option}=") or (len(option) == 2 and value.startswith(option)):
                found.append(value[len(option) :].removeprefix("="))
    return [one for one in found if one]
