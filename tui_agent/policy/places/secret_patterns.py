"""Recognises shell patterns that were written to find secret files.

Invariant: a pattern counts only if it contains enough of a secret name's own letters (`*.pe*` for `*.pem`).
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tui_agent.policy.places.pattern_overlap import names_overlap

_IN_FRONT = re.compile(r"\A[^*?\[]*")
_CLASS = re.compile(r"\[[!^]?\]?[^\]]*+\]?")
_ANY = "\0"
"""Character that replaces `*` in a secret name. Only a wildcard in a shell pattern matches this character."""
_SHARED_ENDING = re.compile(r".(\.json|\.toml|\.ya?ml)\Z")
_MANY_LETTERS = 4
"""A pattern with at least this many letters counts as long."""
# A long pattern must have a third of the letters of a secret file's name, any other pattern half of them.


class SecretPatterns:
    """Names of secret files, in lower case: `*.pem`, `credentials.json`, `.docker/config.json`."""

    def __init__(self, names: Iterable[str]) -> None:
        every = [tuple(name.split("/")) for name in names]
        self._names = tuple(name for *folders, name in every if not folders)
        self._paths = [path for path in every if len(path) > 1]

    def is_sought_by(self, parts: Sequence[str]) -> bool:
        """Return True if a shell pattern is made to find one of the secret names.

        `parts`: the names of the pattern's path, in lower case.
        """
        name = parts[-1] if parts else ""
        if not name.strip("*?") or name == "*.*":
            return False
        return _is_made_for_one(name, self._names) or any(
            _can_match(parts[-len(path) :], path) for path in self._paths
        )


def _can_match(parts: Sequence[str], path: Sequence[str]) -> bool:
    """Return True if a pattern matches a path. A pattern whose first name has only `*` and `?` matches nothing."""
    *folders, last = path
    is_alike = len(parts) == len(path) and bool(parts[0].strip("*?"))
    return is_alike and all(map(names_overlap, parts, (*folders, last.replace("*", _ANY))))


@lru_cache(maxsize=4096)
def _is_made_for_one(pattern: str, names: Sequence[str]) -> bool:
    # The `*` of a secret name such as `*.pem` may match the letters before the pattern's first wildcard.
    behind = _IN_FRONT.sub("", pattern)
    anchored, loose = (pattern, _plain_letters(pattern)), (behind, _plain_letters(behind))
    return any(
        _has_enough_letters(shape, letters, name) and _can_match([shape], [name])
        for name in names
        for shape, letters in (loose if name[0] == "*" else anchored,)
    )


def _has_enough_letters(pattern: str, letters: str, name: str) -> bool:
    if letters == ".":  # every name that begins with a dot
        return name[0] == "."
    only_ends = name[:2] == "*."
    if only_ends and "." not in letters:
        return False
    shared = _SHARED_ENDING.search(name)
    ending = shared[1] if shared else ""
    own = len(name.replace("*", "")) - len(ending) - only_ends
    ended = ending and pattern.endswith(ending)
    count = len(letters) - only_ends - (len(ending) if ended else 0)
    return 2 * count >= own or (count >= _MANY_LETTERS and 3 * count >= own)


def _plain_letters(pattern: str) -> str:
    """Return the literal letters of a shell pattern. A class with one letter becomes this letter."""
    plain = _CLASS.sub(lambda match: match[0][1] if len(match[0]) == 3 else "", pattern)
    return plain.replace("*", "").replace("?", "")
