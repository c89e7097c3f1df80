"""Files that confined commands keep in their private temporary folders.

Invariant: only reads. A path counts as theirs only while the machine's own folder has nothing at its first
name.
"""

import os
from pathlib import Path

KEPT = {"/tmp": "tmp", "/var/tmp": "longer"}
"""The machine's folders that commands have for themselves, and their names inside the sandbox's own folder."""


def top(path: str) -> str:
    """Return the first name below such a folder; empty for other paths and for the folders themselves."""
    for folder in KEPT:
        if path.startswith(f"{folder}/"):
            name = path.removeprefix(f"{folder}/").partition("/")[0]
            return f"{folder}/{name}" if name else ""
    return ""


def is_own(path: str, base: Path | None) -> bool:
    """Return True if a confined command finds its own files at a real path, and no link leads elsewhere.

    `base` is the sandbox's own folder. Nothing of the machine may be at the path or above it.
    """
    first = top(path)
    if not first or os.path.normpath(path) != path or os.path.lexists(first):
        return False
    if base is None:
        return True
    folder = next(kept_folder for kept_folder in KEPT if path.startswith(f"{kept_folder}/"))
    current = base / KEPT[folder]
    for name in path.removeprefix(f"{folder}/").split("/"):
        current = current / name
        if current.is_symlink():
            return False
    return True
