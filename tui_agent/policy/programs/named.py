"""L3: what a program that may do anything is told to run, where its words or texts name it.

Invariant: pure; what is found here only ever makes a command worse. It is no proof of the opposite: code can hide what it
does.
"""

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from urllib.parse import unquote

from tui_agent.policy.programs.part import Part
from tui_agent.policy.programs.table import Program
from tui_agent.policy.shell.script import DESTRUCTIVE, PRIVILEGE, Word

MOST_STARTS = 8
"""Words of one command that are tried as the beginning of another."""
_MOST_READ = 10_000
_TAKING = "rm|rmdir|unlink|shred|pkill|killall|rimraf"
_FOLDER = r"(?:/(?:usr/)?bin/)?"
_TAKES = re.compile(
    rf"(?<![\w.\-]){_FOLDER}(?:{_TAKING})\s+[-\w./~$*'\"{{(\\]"
    rf"|[\"']{_FOLDER}(?:{_TAKING})[\"']\s*[,\]]"
    rf"|^-[-\w]*={_FOLDER}(?:{_TAKING})$"
)
_VEILED = re.compile(r"b64decode|fromhex\(|unhexlify|atob\(|decode64|fromcharcode|base64_decode|'base64'|\"base64\"|rot13", re.IGNORECASE)  # fmt: skip
_RUNS = re.compile(r"\b(?:exec|eval|system|popen|subprocess|spawn|execsync|__import__|compile|function)\b", re.IGNORECASE)  # fmt: skip
_FRONT = "!:+|@ \t\n"
_FIRST = re.compile(r"([^ \t\n]+)[ \t\n]+[^ \t\n]")
"""The first word of several, by what a shell takes for blanks: any other blank is a part of a name."""


_LIST = re.compile(r"""(?:["']([\w./-]{1,80})["']\s*,\s*)?\[([^\[\]]{1,500})\]""")
_TEXT = re.compile(r"""(["'])(.*?)\1""")
_MOST_LISTS = 20


def bare(name: str) -> str:
    """A program's name without the folders that programs of a system lie in, however they are written."""
    if not name.startswith("/"):
        return name
    name = _plain(name)
    for folder in _BIN:
        if name.startswith(folder) and "/" not in name[len(folder) :]:
            return name[len(folder) :]
    return name


def _plain(path: str) -> str:
    """A path without detours; as it is where one of them goes through a folder that may be a link to anywhere."""
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            if names and names[0] not in _SYSTEM:
                return path
            del names[-1:]
        elif name not in ("", "."):
            names.append(name)
    return "/" + "/".join(names)


_SYSTEM = frozenset({"bin", "sbin", "usr", "lib"})
_BIN = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/")


_STEERING = frozenset(
    {"PATH", "IFS", "HOME", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "GLOBIGNORE", "CDPATH", "PS4", "PROMPT_COMMAND",
     "SHELL", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE"}
)  # fmt: skip


def steers(name: str, value: str | None, programs: Mapping[str, Program]) -> bool:
    """Whether a variable may change what the line runs, or how it is read; others only change what a program does itself."""
    if (
        value is None
        or name in _STEERING
        or not name.isidentifier()
        or name.startswith(("LD_", "DYLD_", "GIT_", "BASH_"))
    ):
        return True
    return takes_away((value,)) or any(True for _ in scripts((value,), programs))


def starts(words: Sequence[Word], known: Callable[[str], Program | None]) -> list[int]:
    """Where among the words behind a program's name another command may begin: at the name of one that is known, with
    something behind it. At the program's own name where that is a path which may lead to one that is known."""
    own = bare(words[0].value or "")
    first = [0] if "/" in own and known(posixpath.basename(own)) is not None else []
    return first + [at for at in range(1, len(words) - 1) if known(bare(words[at].value or "")) is not None]


def worse(part: Part, programs: Mapping[str, Program]) -> bool:
    """Whether it makes more of the command that names it: it takes something away, acts with other rights, or nobody knows."""
    known = programs.get(bare((part.words[0] if part.words else None) or ""))
    spoken = known is not None and known.spoken
    return bool(
        DESTRUCTIVE in part.classes or part.ruin or part.opaque or (PRIVILEGE in part.classes and not spoken)
    )


def scripts(texts: Iterable[str | None], programs: Mapping[str, Program]) -> Iterator[str]:
    """Texts that may be command lines: those that begin with a program's name."""
    for text in texts:
        if text is None or len(text) > _MOST_READ:
            continue
        for one in dict.fromkeys((text, text.partition("=")[2], text[2:] if text[:1] == "-" else "")):
            line = one.lstrip(_FRONT)
            first = _FIRST.match(line)
            if first is not None and bare(first[1]) in programs:
                yield line
        for words in _lists(text):
            if bare(words[0]) in programs:
                yield shlex.join(words)


def _lists(text: str) -> Iterator[list[str]]:
    """The words of commands that code holds as a list of texts: `['git', 'gc']`, `'git', ['gc']`."""
    for found in islice(_LIST.finditer(text), _MOST_LISTS):
        words = [one for _, one in _TEXT.findall(found[2])]
        if words:
            yield [found[1], *words] if found[1] else words


def labelled(word: Word) -> Word:
    """A target as the folder that it lies in: `//a/...` and `//a:b` are in `a`."""
    values = [value.removeprefix("-") for value in word.values or ()]
    if not any(value.startswith("//") for value in values):
        return word
    folders = (value.lstrip("/").partition(":")[0].removesuffix("...") for value in values)
    return Word(word.text, tuple(folder or "." for folder in folders))


def forbidden(program: Program, text: str) -> bool:
    """Whether a text holds a piece that a program's entry forbids."""
    for piece in program.lets:
        text = text.replace(piece, " ")
    return any(piece in text for piece in program.forbid)


def own_name(name: str) -> bool:
    """Return True if no program reads a variable of this name."""
    plain = name.isascii() and name.isidentifier() and name.islower()
    return plain and not name.endswith("_proxy") and not name.startswith(_READ_BY_NPM)


_READ_BY_NPM = ("npm_", "pnpm_", "yarn_")


def may_be_option(word: Word) -> bool:
    """Whether a pattern may stand for a name that begins with a dash."""
    return word.glob and any(value[:1] in ("*", "?", "[", "-") for value in word.values or ())


def end_of(words: Sequence[Word], at: int, *, open_ended: bool) -> int | None:
    """Where the command behind `-exec` ends; None where it has no words or no end. `open_ended`: it needs none."""
    for index in range(at + 1, len(words)):
        if words[index].value == ";" or (words[index].value == "+" and words[index - 1].value == "{}"):
            return index if index > at + 1 else None
    return len(words) if open_ended and len(words) > at + 1 else None


def local_files(words: Iterable[Word]) -> Iterator[Word]:
    """The files that addresses without a host name."""
    for value in (value for word in words for value in word.values or ()):
        if value.lower().startswith("file://"):
            path = value[len("file://") :].removeprefix("localhost")
            yield Word(value, (unquote(path),))


def takes_away(texts: Iterable[str | None]) -> bool:
    """Whether a text in another language than the shell's names a program that takes files away or ends others."""
    return any(text and _TAKES.search(text[:_MOST_READ]) for text in texts)


def veiled(code: str) -> bool:
    """Whether code unpacks a text and may run it."""
    return bool(_VEILED.search(code) and _RUNS.search(code))
