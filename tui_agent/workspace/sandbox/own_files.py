"""The files that confined commands keep in the temporary folders which they have for themselves.

Invariant: looks only. A path counts as theirs only while nothing is at its first name in the machine's own folder.
"""

import os
from pathlib import Path

KEPT = {"/tmp": "tmp", "/var/tmp": "longer"}
"""Folders of the machine that commands have for themselves, and where theirs lie in the sandbox's own."""


def top(path: str) -> str:
    """The first name below such a folder on the way to a path; empty for other paths, and for the folders themselves."""
    for folder in KEPT:
        if path.startswith(f"{folder}/"):
            name = path.removeprefix(f"{folder}/").partition("/")[0]
            return f"{folder}/{name}" if name else ""
    return ""


def is_own(path: str, base: Path | None) -> bool:
    """Whether nothing of the machine's is at a real path or above it, so that a confined command finds there what such commands
    made, in `base`, and no link leads on from there."""
    first = top(path)
    if not first or os.path.normpath(path) != path or os.path.lexists(first):
        return False
    if base is None:
        return True
    folder = next(each for each in KEPT if path.startswith(f"{each}/"))
    at = base / KEPT[folder]
    for name in path.removeprefix(f"{folder}/").split("/"):
        at = at / name
        if at.is_symlink():
            return False
    return True
