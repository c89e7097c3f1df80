"""L3: words that make more of a command than its program's entry says, whichever subcommand they stand behind, and files whose
change does.

Invariant: pure; what is found here only ever adds a class. It is no proof of the opposite.
"""

import posixpath
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise

from tui_agent.policy.programs.named import starts
from tui_agent.policy.programs.part import GLOB, Part
from tui_agent.policy.programs.table import Program, Table
from tui_agent.policy.shell.script import DESTRUCTIVE, PRIVILEGE, Word

_FRONT = 5
"""Words that are no options, and may be subcommands."""
_UNKNOWN = (
    "delete|destroy|purge|uninstall|prune|erase|wipe|undefine|terminate|unpublish|drop|rm|rmi|remove|"
    "delete-*|destroy-*|remove-*|purge-*|*-delete|*-destroy|*:delete|*:destroy|*:drop|*:reset|*:remove|*:purge"
)
"""What a program that nobody knows is told where it is to take something away."""
_WORDS = 40
"""As many of a command that is handed on are looked at."""
_LETTERS = 4
"""A word of more letters behind one dash is one option, not several."""
_HARMLESS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/pts/", "/dev/std", "/dev/fd/", "/dev/shm/", "/dev/tcp/",
             "/dev/udp/", "/dev/random", "/dev/urandom", "/proc/self/fd/")  # fmt: skip
_DEVICES = ("/dev/", "/proc/sysrq-trigger")
_SYSTEM = (
    "/proc/",
    "/sys/",
    "/etc/",
    "/boot/",
    "/usr/",
    "/bin/",
    "/sbin/",
    "/lib/",
    "/lib64/",
    "/var/spool/cron/",
)


def note_graver(part: Part, program: Program | None) -> None:
    """Add the classes that its words and the files it writes give it."""
    words = part.words[1:]
    if program is not None:
        for pattern, name in program.graver.items():
            if name not in part.classes and _fit(pattern, words):
                part.turn(name, f"{part.name or part.program} {pattern}")
        front = set(_plain(words)[:3])
        part.relays = bool(front.intersection(program.relays)) or "*" in program.relays
    elif part.unknown and any(_alike(word, _UNKNOWN) for word in _plain(words)[:3]):
        part.turn(DESTRUCTIVE, f"{part.program} is told to take something away")
    for path in part.writes:
        _note_place(part, posixpath.normpath(path) if path.startswith("/") else path)


def _note_place(part: Part, path: str) -> None:
    if path.startswith(_HARMLESS):
        return
    if path.startswith(_DEVICES):
        part.turn(DESTRUCTIVE, f"it writes the device {path}")
    elif f"{path}/".startswith(_SYSTEM):
        part.turn(PRIVILEGE, f"it changes the system's {path}")


def relayed(part: Part, table: Table) -> Iterator[str]:
    """Command lines that it may hand on to another machine: what stands behind each name of a program that is known."""
    words = [Word(word or "", (word,)) if word is not None else Word("", None) for word in part.words]
    found = starts([*words, Word("", ("",))], table.programs.get)
    for at in (one for one in found if one):
        yield _quoted(part.words[at : at + _WORDS])


def _quoted(words: Sequence[str | None]) -> str:
    return " ".join('"$_"' if word is None else "'" + word.replace("'", "'\\''") + "'" for word in words)


def _plain(words: Sequence[str | None]) -> list[str]:
    return [word.casefold() for word in words if word is not None and word[:1] != "-"][:_FRONT]


def _fit(pattern: str, words: Sequence[str | None]) -> bool:
    """Whether all of a pattern is among the words: its subcommands in their order, its options anywhere."""
    options, anchored, plain = _parsed(pattern)
    if not all(_has_option(names, value, words) for names, value in options):
        return False
    said = _plain(words)
    if anchored:
        return _begins(said, plain) or _begins(_plain(_behind_options(words)), plain)
    at = iter(said)
    return all(any(_alike(word, one) for word in at) for one in plain)


def _begins(said: Sequence[str], plain: Sequence[str]) -> bool:
    return len(said) >= len(plain) and all(map(_alike, said, plain))


def _behind_options(words: Sequence[str | None]) -> Sequence[str | None]:
    """What stands behind the options in front, each with a word of its own: `-C x --context y stack rm`."""
    at = 0
    while at < len(words) and (words[at] or "")[:1] == "-":
        at += 1 if "=" in (words[at] or "") else 2
    return words[at:]


@lru_cache(maxsize=1_024)
def _parsed(pattern: str) -> tuple[tuple[tuple[str, str], ...], bool, tuple[str, ...]]:
    """Its options with their words, whether it begins with the first subcommand, and its subcommands."""
    tokens = pattern.removeprefix("^").split()
    options = [one.partition("=") for one in tokens if one[0] == "-"]
    plain = tuple(one for one in tokens if one[0] != "-")
    return tuple((name, value) for name, _, value in options), pattern[0] == "^", plain


def _alike(word: str, pattern: str) -> bool:
    """Whether a word is one of those that `|` parts."""
    kinds = pattern.split("|")
    return word in kinds or any(fnmatchcase(word, one) for one in kinds if not GLOB.isdisjoint(one))


def _has_option(names: str, value: str, words: Sequence[str | None]) -> bool:
    return any(
        _is_option(name, value, word, after)
        for word, after in pairwise((*words, None))
        if word is not None and word[:1] == "-"
        for name in names.split("|")
    )


def _is_option(name: str, value: str, word: str, after: str | None) -> bool:
    given, equals, text = word.partition("=")
    cluster = len(name) == 2 and word[1:].isalpha() and len(word) <= _LETTERS + 1
    if not value:
        return given == name or (cluster and name[1] in word[1:])
    if given == name:
        return _alike((text if equals else after or "").casefold(), value)
    at = word.find(name[1]) if len(name) == 2 and word[1:2] != "-" else -1
    front = at == 1 or word[1:at].isalpha()
    glued = at > 0 and front and _alike(word[at + 1 :].removeprefix("=").casefold(), value)
    return glued or (cluster and word.endswith(name[1]) and _alike((after or "").casefold(), value))
