"""The files that a question names: paths as they are typed, compilers and stack traces print them, and dotted modules.

Invariant: pure; bounded by `MOST_NAMES` words of the question and `MOST` files; what could be many files is none.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tui_agent.context.repomap.path_kinds import first_name

MOST = 8
MOST_NAMES = 200
MOST_ALIKE = 5
"""A name without a folder that more files bear names none of them."""
_NAME = re.compile(
    r"(?P<ahead>[`'\"@]*)"
    r"(?:(?<=@\")(?P<quoted>[^\"\n]{1,300})|(?P<bare>[\w.+@~/\\$\[\]:#-]{2,300}|\b(?:Make|Docker|Rake|Gem|Proc|Just)file\b))"
)
_QUOTES = ("`", "'", '"')
"""What closes a bare word that is quoted alone: not the program of a quoted command, nor the language of a block of code."""
_FRAME = re.compile(r"File \"(?P<path>[^\"\n]{1,300})\", line (?P<line>\d{1,7})")
_LINE = re.compile(r"(?P<path>.*?[^:])(?::|#L)(?P<line>\d{1,7})(?:\b.*)?$")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:[.$][A-Za-z_]\w*)+")
_PLAIN = re.compile(r"[A-Z][a-z]+\.js")
"""A product, as Node.js, and no file."""
_PACKAGES = ("__init__", "index", "mod", "lib")
_LEAST_OF_MODULE = 2
_LEAST_OF_PROSE = 3
"""Folders and name without an ending, so that read/write is no path."""
Alike = Callable[[str], Sequence[str]]
"""The files whose names begin with a word, as `places.first_name` gives it."""


class Mention(NamedTuple):
    """A file that is named, at which of its lines (0 for none). Files that one name can mean have one number."""

    path: str
    line: int = 0
    name: int = 0


def mentioned(text: str, alike: Alike) -> list[Mention]:
    """The files that a text names, in its order; of a Python traceback the last first, for there it went wrong."""
    frames = [_path(found["path"], alike, int(found["line"])) for found in _FRAME.finditer(text)]
    found: dict[str, Mention] = {}
    for number, group in enumerate([*_typed(_FRAME.sub(" ", text), alike), *reversed(frames)]):
        for one in group:
            known = found.setdefault(one.path, one._replace(name=number))
            if not known.line:
                found[one.path] = known._replace(line=one.line)
    return list(found.values())[:MOST]


def _typed(text: str, alike: Alike) -> Iterator[list[Mention]]:
    for number, match in enumerate(_NAME.finditer(text)):
        if number >= MOST_NAMES:
            return
        word = match["quoted"] or match["bare"].rstrip(".:,;-#").removeprefix("@")
        marked = match["ahead"].endswith("@") or (
            bool(match["ahead"]) and text.startswith(_QUOTES, match.end())
        )
        if match["quoted"] or marked or _is_telling(word):
            yield _named(word, alike, marked=marked)


def _is_telling(word: str) -> bool:
    return any(sign in word for sign in "./\\") or "::" in word or word.endswith("file")


def _named(word: str, alike: Alike, *, marked: bool) -> list[Mention]:
    line = 0
    if (at := _LINE.match(word)) is not None:
        word, line = at["path"], int(at["line"])
    head, twice, _ = word.partition("::")
    if twice and ("/" in head or "." in head):
        word = head
    elif twice:
        word = word.replace("::", ".")
    return _path(word, alike, line, marked=marked) or _module(word, alike, line)


def _parts(word: str) -> list[str]:
    return [part for part in word.replace("\\", "/").split("/") if part not in ("", ".", "..", "~")]


def _path(word: str, alike: Alike, line: int = 0, *, marked: bool = False) -> list[Mention]:
    """The files that a path can mean: one that ends like it, or one that it ends like."""
    parts = _parts(word)
    if not parts:
        return []
    found = [path for path in alike(first_name(parts[-1])) if _base(path) == parts[-1]]
    if not found and not _PLAIN.fullmatch(word):
        small = parts[-1].lower()
        found = [path for path in alike(first_name(small)) if _base(path).lower() == small]
        parts = [*parts[:-1], _base(found[0])] if len(found) == 1 else parts
    if not found and (len(parts) >= _LEAST_OF_PROSE or (marked and len(parts) > 1)):
        found = [path for path in alike(first_name(parts[-1])) if _stem(_base(path)) == parts[-1]]
        return _best(found, parts, line, bare=True)
    return _best(found, parts, line, bare=False)


def _module(word: str, alike: Alike, line: int) -> list[Mention]:
    """The file of a dotted name, the last parts of which can be within it."""
    if not _MODULE.fullmatch(word):
        return []
    parts = re.split(r"[.$]", word)
    for end in range(len(parts), max(_LEAST_OF_MODULE, len(parts) - 3) - 1, -1):
        of_module = parts[:end]
        for package in ((), *((name,) for name in _PACKAGES)):
            sought = [*of_module, *package]
            found = [path for path in alike(first_name(sought[-1])) if _stem(_base(path)) == sought[-1]]
            best = _best(found, sought, line, bare=True, least=_LEAST_OF_MODULE + len(package))
            if len(best) == 1:
                return best
    return []


def _best(found: Sequence[str], parts: list[str], line: int, *, bare: bool, least: int = 0) -> list[Mention]:
    """Those that share the longest end with the parts of a name. `bare`: the name is without its ending; `least`: parts
    that must be shared."""
    shared: dict[str, int] = {}
    for path in found:
        of_path = (_stem(path) if bare else path).split("/")
        count = _shared([*of_path[:-1], parts[-1]], parts)
        if count >= max(least, min(_LEAST_OF_MODULE, len(parts), len(of_path))):
            shared[path] = count
    most = max(shared.values(), default=0)
    best = [path for path, count in shared.items() if count == most]
    whole = [path for path in best if path.count("/") + 1 == most]
    best = whole or best
    return [Mention(path, line) for path in best] if len(best) <= MOST_ALIKE else []


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        count += 1
    return count


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _stem(path: str) -> str:
    at = path.find(".", path.rfind("/") + 2)
    return path if at < 0 else path[:at]
