"""Finds the git object folders from which a checkpoint store borrows objects, and which of them are missing.

The object folders belong to the user's repository, or to the checkpoint store of the parent session.
"""

import os
import re
from pathlib import Path

MAX_DEPTH = 5
"""Maximum number of object folders in a chain of borrowing folders."""
_ESCAPED = re.compile(rb'\\([\\"n])')


def alternates_file(store: Path) -> Path:
    """Return the path of the file `objects/info/alternates`, which lists the object folders to borrow from."""
    return store / "objects" / "info" / "alternates"


def find_missing_folders(store: Path) -> list[Path]:
    """Return the missing folders that the store borrows objects from, directly or indirectly."""
    missing: list[Path] = []
    folders = [store / "objects"]
    for _ in range(MAX_DEPTH):
        borrowed_folders = [path for folder in folders for path in _borrowed_folders(folder)]
        missing += [path for path in borrowed_folders if not path.is_dir() and path not in missing]
        folders = [path for path in borrowed_folders if path.is_dir()]
    return missing


def describe_missing_folders(store: Path) -> str:
    """Return a sentence about the missing object folders, or an empty string if none is missing."""
    missing = find_missing_folders(store)
    if not missing:
        return ""
    names = " and ".join(str(path.parent if path.name == "objects" else path) for path in missing)
    verb = "exists" if len(missing) == 1 else "exist"
    return f"The checkpoints use objects from {names}, which no longer {verb}"


def read_alternates(objects: Path) -> list[bytes]:
    """Return the lines of an object folder's alternates file, each with a folder to borrow objects from."""
    path = objects / "info" / "alternates"
    return path.read_bytes().splitlines() if path.exists() else []


def borrows_from_partial_clone(store: Path) -> bool:
    """Return True if the store borrows from a clone made with `git clone --filter`."""
    return any(any(folder.glob("pack/*.promisor")) for folder in _borrowed_folders(store / "objects"))


def _borrowed_folders(objects: Path) -> list[Path]:
    entries = [line for line in read_alternates(objects) if line and not line.startswith(b"#")]
    return [objects / os.fsdecode(_unquote(line)) for line in entries]


def _unquote(line: bytes) -> bytes:
    if not line.startswith(b'"'):
        return line
    return _ESCAPED.sub(lambda match: b"\n" if match[1] == b"n" else match[1], line[1:-1])
