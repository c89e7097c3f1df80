"""Search for the spelling of a path on disk. Some file systems open one file under several spellings.

Invariant: names that differ only in case count as equal only if they open the same file.
"""

import os
import unicodedata
from collections.abc import Iterator

MAX_LISTED = 250_000
"""Maximum number of entries of a folder that are searched for a name."""


class NameLookup:
    """Looks up names in this machine's file systems. Tests can replace it."""

    def identity(self, path: str) -> tuple[int, int] | None:
        """Return the device and inode of a path, without following links; None if it does not exist."""
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return None
        return status.st_dev, status.st_ino

    def list_names(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield the name and the inode of each entry of a folder; nothing if the folder cannot be read."""
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    yield entry.name, entry.inode()
        except OSError:
            return


def listed_spelling(path: str, above: str, names: NameLookup) -> str:
    """Return `path` as it is spelled on disk.

    - `path`: absolute and without links
    - `above`: a folder above `path`; its spelling is not changed
    """
    base = above.rstrip("/") if path.startswith(above.rstrip("/") + "/") else ""
    remaining = [name for name in path[len(base) :].split("/") if name]
    for index, name in enumerate(remaining):
        listed = _listed_name(base, name, names)
        if listed is None:
            return "/".join((base, *remaining[index:]))
        base = f"{base}/{listed}"
    return base or "/"


def _listed_name(folder: str, name: str, names: NameLookup) -> str | None:
    identity = names.identity(f"{folder}/{name}")
    if identity is None:
        return None
    spellings = _other_spellings(name)
    if not _is_unusual(name) and not any(
        names.identity(f"{folder}/{other}") == identity for other in spellings
    ):
        return name
    # The folder is read only if another spelling leads to the same file, because large folders are slow to read.
    same_inode: list[str] = []
    for count, (listed, number) in enumerate(names.list_names(folder or "/")):
        if listed == name or count >= MAX_LISTED:
            return name
        if number == identity[1]:
            same_inode.append(listed)
    same_key = [listed for listed in same_inode if _comparison_key(listed) == _comparison_key(name)]
    return min(same_key or same_inode, default=name)


def _other_spellings(name: str) -> set[str]:
    spellings = {name.swapcase()}
    if not name.isascii():
        spellings |= {unicodedata.normalize(form, name) for form in ("NFC", "NFD")}
    return spellings - {name}


def _is_unusual(name: str) -> bool:
    """Return True if a file system could list this file under a different name, e.g. `PROGRA~1` or `name.`."""
    return "~" in name or name[-1] in ". " or any(unicodedata.category(char) == "Cf" for char in name)


def _comparison_key(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
