"""What runs at every start of the interpreter that this program uses, and which package brought it.

Invariant: looks at names, lists of what packages installed, and the files' hashes; runs and imports nothing of what it
finds.
"""

import base64
import hashlib
import re
import site
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

AT_START = ("sitecustomize", "usercustomize")
"""Modules that an interpreter imports at its start where they are there."""
MOST_BYTES = 1_000_000
_RUNS = re.compile(rb"^import[ \t]", re.MULTILINE)
_OF_VENV = {"_virtualenv.pth": b"import _virtualenv"}
"""What makers of virtual environments write without a list."""


class Foreign(NamedTuple):
    """A file that no package installed, or that is not as it was installed. `runs`: it runs code, and does not only name
    folders."""

    path: Path
    changed: bool
    runs: bool


def folders() -> list[Path]:
    """Where the packages of this interpreter lie."""
    own = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [path for name in dict.fromkeys((*site.getsitepackages(), *own)) if (path := Path(name)).is_dir()]


def foreign(places: Iterable[Path]) -> list[Foreign]:
    """What begins by itself in these folders and is no package's."""
    found: list[Foreign] = []
    for folder in places:
        listed = _listed(folder)
        for path in _beginning(folder):
            content = _content(path)
            if content.strip() == _OF_VENV.get(path.name, b"\0"):
                continue
            digest = listed.get(path.resolve())
            if digest is None or (digest and digest != _digest(content)):
                runs = path.suffix != ".pth" or _RUNS.search(content) is not None
                found.append(Foreign(path, digest is not None, runs))
    return found


def _beginning(folder: Path) -> Sequence[Path]:
    modules = [
        path for name in AT_START for path in folder.glob(f"{name}*") if path.stem.split(".")[0] == name
    ]
    return sorted([*folder.glob("*.pth"), *(path for path in modules if path.suffix != ".dist-info")])


def _listed(folder: Path) -> dict[Path, str]:
    """The files that begin by themselves in the lists of packages, with their hashes; empty where none is given."""
    found: dict[Path, str] = {}
    for one in metadata.distributions(path=[str(folder)]):
        for file in one.files or ():
            if file.suffix == ".pth" or file.parts[0].partition(".")[0] in AT_START:
                digest = file.hash.value if file.hash is not None and file.hash.mode == "sha256" else ""
                found[Path(str(file.locate())).resolve()] = digest
    return found


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return b""


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def told(found: Sequence[Foreign]) -> tuple[str, str]:
    """The same in words, and what to do."""
    named = ", ".join(
        f"{one.path}{' (changed since it was installed)' if one.changed else ''}" for one in found[:3]
    )
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    what = (
        "Code that no installed package brought runs"
        if any(one.runs for one in found)
        else "Folders are added"
    )
    return (
        f"{what} at every start of {sys.executable}: {named}{more}.",
        "Read it; remove what you did not put there.",
    )
