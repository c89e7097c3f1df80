"""L3: whether a shell's pattern is made to find a file with secrets, or only could find one.

Invariant: pure. A pattern is made for a secret's name where its letters are enough of that name's own letters: what stands
in for the rest of a name that may be anything (`x` of `x.pem`), or for an ending that many files share, counts nothing.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

_SIGNS = "*?["
_CLASS = re.compile(r"\[[!^]?\]?[^\]]*\]")
_ANY = "\uffff"
"""A letter that only a wildcard finds."""
_SHARED = (".json", ".toml", ".yml", ".yaml")
_MANY = 4
"""Letters of a long name that are enough where they are a third of it; else it takes a half."""


class SecretShapes:
    """Names of files with secrets, in small letters: `*.pem`, `credentials.json`, `.docker/config.json`."""

    def __init__(self, names: Iterable[str]) -> None:
        every = [name.split("/") for name in names]
        self._names = [_Shape(name[0]) for name in every if len(name) == 1]
        self._paths = [(tuple(name[:-1]), _Shape(name[-1])) for name in every if len(name) > 1]

    def sought_by(self, parts: Sequence[str]) -> bool:
        """Whether a pattern, name by name and in small letters, is made to find one."""
        name = parts[-1] if parts else ""
        if not name.strip("*?") or name == "*.*":
            return False
        return self._sought(name) or any(
            _leads(parts[-len(folders) - 1 : -1], folders) and shape.found_by(name)
            for folders, shape in self._paths
        )

    @lru_cache(maxsize=4096)  # noqa: B019 - there is one for the whole process
    def _sought(self, name: str) -> bool:
        return any(shape.found_by(name) and shape.meant_by(name) for shape in self._names)


def _leads(parts: Sequence[str], folders: Sequence[str]) -> bool:
    """Whether folders are meant, and not just any."""
    return len(parts) == len(folders) and bool(parts[0].strip("*?")) and all(map(fnmatchcase, folders, parts))


class _Shape:
    """One name, perhaps with a `*` in it."""

    def __init__(self, name: str) -> None:
        self._sample = name.replace("*", _ANY)
        self._begin = name.partition("*")[0]
        self._end = name.rpartition("*")[2]
        self._open = name.startswith("*")
        self._ending = next((end for end in _SHARED if name.endswith(end) and name != end), "")
        self._only_ends = name.startswith("*.")
        self._own = len(name.replace("*", "")) - len(self._ending) - self._only_ends

    def found_by(self, pattern: str) -> bool:
        """Whether the pattern finds such a name."""
        pattern = _after(pattern) if self._open else pattern
        begin = _before(pattern)
        behind = _behind(pattern)
        if not begin.startswith(self._begin[: len(begin)]) or (self._begin == self._end and begin == pattern):
            return False
        if not (self._end.endswith(behind) or behind.endswith(self._end)):
            return False
        return fnmatchcase(self._sample, pattern)

    def meant_by(self, pattern: str) -> bool:
        """Whether the pattern's letters are enough of its own."""
        pattern = _after(pattern) if self._open else pattern
        ending = self._ending if pattern.endswith(self._ending) else ""
        letters = _letters(pattern.removesuffix(ending))
        if letters == ".":  # every name that begins with a dot
            return self._begin.startswith(".")
        if self._only_ends and "." not in letters:
            return False
        count = len(letters) - self._only_ends
        return 2 * count >= self._own or (count >= _MANY and 3 * count >= self._own)


def _before(pattern: str) -> str:
    """The letters in front of a pattern's first sign."""
    return pattern[: min((at for at in map(pattern.find, _SIGNS) if at >= 0), default=len(pattern))]


def _after(pattern: str) -> str:
    """A pattern from its first sign on."""
    return pattern[len(_before(pattern)) :]


def _behind(pattern: str) -> str:
    """The letters behind a pattern's last sign."""
    return pattern[max(pattern.rfind(sign) for sign in "*?]") + 1 :]


def _letters(pattern: str) -> str:
    """A pattern's letters without its signs; a class of one letter is that letter."""
    plain = _CLASS.sub(lambda found: found.group()[1] if len(found.group()) == 3 else "", pattern)
    return plain.replace("*", "").replace("?", "")
