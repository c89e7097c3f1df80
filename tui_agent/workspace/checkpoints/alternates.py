"""The folders of objects that a store borrows from: the user's repository, the store of the session it was forked from."""

import os
import re
from pathlib import Path

DEEPEST = 5
"""How many stores behind one another git follows."""
_ESCAPED = re.compile(rb'\\([\\"n])')


def alternates_of(store: Path) -> Path:
    """The file that names the folders of objects which a store borrows from."""
    return store / "objects" / "info" / "alternates"


def gone(store: Path) -> list[Path]:
    """The folders that it borrows from, directly or through another store, and that are not there any more."""
    missing: list[Path] = []
    places = [store / "objects"]
    for _ in range(DEEPEST):
        behind = [path for place in places for path in _places(place)]
        missing += [path for path in behind if not path.is_dir() and path not in missing]
        places = [path for path in behind if path.is_dir()]
    return missing


def where_gone(store: Path) -> str:
    """A sentence that names those folders; empty where all are there."""
    missing = gone(store)
    if not missing:
        return ""
    names = " and ".join(str(path.parent if path.name == "objects" else path) for path in missing)
    return f"What it borrows is missed: {names} is not there any more"


def lines_of(objects: Path) -> list[bytes]:
    """The folders that these objects borrow from, as they are written."""
    path = objects / "info" / "alternates"
    return path.read_bytes().splitlines() if path.exists() else []


def _places(objects: Path) -> list[Path]:
    named = [line for line in lines_of(objects) if line and not line.startswith(b"#")]
    return [objects / os.fsdecode(_plain(line)) for line in named]


def _plain(line: bytes) -> bytes:
    if not line.startswith(b'"'):
        return line
    return _ESCAPED.sub(lambda found: b"\n" if found[1] == b"n" else found[1], line[1:-1])
