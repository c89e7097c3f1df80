"""The names that a path really has, where a file system opens a file under other spellings too.

Invariant: no kind of file system is asked for by name. Whether letters count is seen at the file itself: a name that
opens and is not in its folder's list is another spelling of the listed one with the same number (inode). So links that
differ only in case stay two files where they are two, and become one where they are one.
"""

import os
import unicodedata
from collections.abc import Iterator
from typing import Protocol

MAX_LISTED = 250_000
"""Entries of a folder that are looked through for a name."""


class Names(Protocol):
    """What a file system says about names; a double folds where this machine's does not."""

    def identity(self, path: str) -> tuple[int, int] | None:
        """Device and number of what the path opens, links not followed; None where nothing is."""
        ...

    def listed(self, folder: str) -> Iterator[tuple[str, int]]:
        """The folder's entries with their numbers."""
        ...


class DiskNames:
    """The names of this machine's file systems."""

    def identity(self, path: str) -> tuple[int, int] | None:
        """See `Names`."""
        try:
            found = os.lstat(path)
        except (OSError, ValueError):
            return None
        return found.st_dev, found.st_ino

    def listed(self, folder: str) -> Iterator[tuple[str, int]]:
        """See `Names`; a folder that may not be listed is empty."""
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    yield entry.name, entry.inode()
        except OSError:
            return


def spelled(path: str, above: str, names: Names) -> str:
    """`path` (absolute, links followed) as the folders list it. What stands in `above`, and what is missing, stays."""
    base = above.rstrip("/") if path.startswith(above.rstrip("/") + "/") else ""
    rest = [name for name in path[len(base) :].split("/") if name]
    for index, name in enumerate(rest):
        true = _listed_name(base, name, names)
        if true is None:
            return "/".join((base, *rest[index:]))
        base = f"{base}/{true}"
    return base or "/"


def _listed_name(folder: str, name: str, names: Names) -> str | None:
    """The name's own spelling in its folder; None where nothing is there."""
    found = names.identity(f"{folder}/{name}")
    if found is None:
        return None
    others = _others(name)
    if not _odd(name) and not any(names.identity(f"{folder}/{other}") == found for other in others):
        return name
    alike: list[str] = []
    for count, (listed, number) in enumerate(names.listed(folder or "/")):
        if listed == name or count >= MAX_LISTED:
            return name
        if number == found[1]:
            alike.append(listed)
    near = [listed for listed in alike if _key(listed) == _key(name)]
    return min(near or alike, default=name)


def _others(name: str) -> set[str]:
    """Spellings that would open the same file where letters or forms of them do not count."""
    found = {name.swapcase()}
    if not name.isascii():
        found |= {unicodedata.normalize(form, name) for form in ("NFC", "NFD")}
    return found - {name}


def _odd(name: str) -> bool:
    """Whether some file systems would open it under a name without its end, its marks or its number."""
    return "~" in name or name[-1] in ". " or any(unicodedata.category(char) == "Cf" for char in name)


def _key(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
