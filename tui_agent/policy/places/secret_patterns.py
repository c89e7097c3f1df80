"""L3: shell patterns that are made to find files with secrets, told from those that only could find one.

Invariant: pure. A pattern is made for a secret's name if it has enough of that name's own letters; letters for a part that
may be anything (`x` of `x.pem`), or for an ending that many files share, do not count.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tui_agent.policy.places.pattern_overlap import names_overlap

_SIGNS = "*?["
_CLASS = re.compile(r"\[[!^]?\]?[^\]]*\]")
_ANY = "\0"
"""A letter that only a wildcard matches."""
_SHARED_ENDINGS = (".json", ".toml", ".yml", ".yaml")
_MANY_LETTERS = 4
"""Letters of a long name that are enough if they are a third of it; else a half is needed."""


class SecretPatterns:
    """Names of files with secrets, in small letters: `*.pem`, `credentials.json`, `.docker/config.json`."""

    def __init__(self, names: Iterable[str]) -> None:
        every = [name.split("/") for name in names]
        self._names = [_SecretName(name[0]) for name in every if len(name) == 1]
        self._paths = [(tuple(name[:-1]), _SecretName(name[-1])) for name in every if len(name) > 1]

    def is_sought_by(self, parts: Sequence[str]) -> bool:
        """Return True if a pattern, name by name and in small letters, is made to find one of the names."""
        name = parts[-1] if parts else ""
        if not name.strip("*?") or name == "*.*":
            return False
        return self._is_made_for(name) or any(
            _are_meant(parts[-len(folders) - 1 : -1], folders) and shape.is_found_by(_split_letters(name))
            for folders, shape in self._paths
        )

    @lru_cache(maxsize=4096)  # noqa: B019 - one instance lives as long as the process
    def _is_made_for(self, name: str) -> bool:
        whole = _split_letters(name)
        loose = _split_letters(name[len(whole.begin) :]) if whole.begin else whole
        return any(
            shape.is_meant_by(letters) and shape.is_found_by(letters)
            for shape in self._names
            for letters in (loose if shape.open else whole,)
        )


def _are_meant(parts: Sequence[str], folders: Sequence[str]) -> bool:
    """Return True if a pattern means these folders, and not just any."""
    return (
        len(parts) == len(folders) and bool(parts[0].strip("*?")) and all(map(names_overlap, parts, folders))
    )


@dataclass(frozen=True, slots=True)
class _Letters:
    """The letters of a pattern: in front of its first sign (`begin`), behind its last one (`end`), and all of them."""

    pattern: str
    begin: str
    end: str
    letters: str


@lru_cache(maxsize=4096)
def _split_letters(pattern: str) -> _Letters:
    first = min((at for at in map(pattern.find, _SIGNS) if at >= 0), default=len(pattern))
    last = max(map(pattern.rfind, "*?]"))
    # A class of one letter is that letter.
    plain = _CLASS.sub(lambda found: found.group()[1] if len(found.group()) == 3 else "", pattern)
    letters = plain.replace("*", "").replace("?", "")
    return _Letters(pattern, pattern[:first], pattern[max(first, last + 1) :], letters)


class _SecretName:
    """A name of files with secrets, perhaps with a `*` in it. `open`: it may begin with anything."""

    def __init__(self, name: str) -> None:
        self._sample = name.replace("*", _ANY)
        self._begin = name.partition("*")[0]
        self.open = name.startswith("*")
        self._ending = next((end for end in _SHARED_ENDINGS if name.endswith(end) and name != end), "")
        self._only_ends = name.startswith("*.")
        self._own = len(name.replace("*", "")) - len(self._ending) - self._only_ends

    def is_found_by(self, sought: _Letters) -> bool:
        """Return True if the pattern can match such a name."""
        return names_overlap(sought.pattern, self._sample)

    def is_meant_by(self, sought: _Letters) -> bool:
        """Return True if the pattern has enough of this name's own letters."""
        letters = sought.letters
        if letters == ".":  # every name that begins with a dot
            return self._begin.startswith(".")
        if self._only_ends and "." not in letters:
            return False
        ended = bool(self._ending) and sought.end.endswith(self._ending)
        count = len(letters) - self._only_ends - (len(self._ending) if ended else 0)
        return 2 * count >= self._own or (count >= _MANY_LETTERS and 3 * count >= self._own)
