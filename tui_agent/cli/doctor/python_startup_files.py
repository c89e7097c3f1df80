"""Search for Python start-up files that belong to no installed package.

This Python interpreter reads its start-up files at every start, before the program.

Invariant: the files are compared by hash, and never run or imported.
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

STARTUP_MODULES = ("sitecustomize", "usercustomize")
"""Modules that Python imports at every start, if they exist."""
MAX_READ_BYTES = 1_000_000
_RUNS = re.compile(rb"^import[ \t]", re.MULTILINE)
_VENV_STARTUP_FILES = {"_virtualenv.pth": b"import _virtualenv"}
"""Maps a start-up file of virtual environments to its expected content."""


class ForeignFile(NamedTuple):
    """A Python start-up file that belongs to no package, or that was changed after installation.

    `runs`: True if the file runs code; False if it only adds folders to the module path.
    """

    path: Path
    changed: bool
    runs: bool


def package_folders() -> list[Path]:
    """Return the existing `site-packages` folders of this interpreter."""
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [path for name in dict.fromkeys((*site.getsitepackages(), *user)) if (path := Path(name)).is_dir()]


def find_foreign_files(places: Iterable[Path]) -> list[ForeignFile]:
    """Return the foreign start-up files in `places` (see `ForeignFile`)."""
    files: list[ForeignFile] = []
    for folder in places:
        package_hashes = _read_package_hashes(folder)
        for path in _startup_files(folder):
            content = _read_start(path)
            if content.strip() == _VENV_STARTUP_FILES.get(path.name, b"\0"):
                continue
            digest = package_hashes.get(path.resolve())
            if digest is None or (digest and digest != _digest(content)):
                runs = path.suffix != ".pth" or _RUNS.search(content) is not None
                files.append(ForeignFile(path, digest is not None, runs))
    return files


def _startup_files(folder: Path) -> Sequence[Path]:
    modules = [
        path
        for name in STARTUP_MODULES
        for path in folder.glob(f"{name}*")
        if path.stem.split(".")[0] == name
    ]
    return sorted([*folder.glob("*.pth"), *(path for path in modules if path.suffix != ".dist-info")])


def _read_package_hashes(folder: Path) -> dict[Path, str]:
    hashes: dict[Path, str] = {}
    for package in metadata.distributions(path=[str(folder)]):
        for file in package.files or ():
            if file.suffix == ".pth" or file.parts[0].partition(".")[0] in STARTUP_MODULES:
                digest = file.hash.value if file.hash is not None and file.hash.mode == "sha256" else ""
                hashes[Path(str(file.locate())).resolve()] = digest
    return hashes


def _read_start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_READ_BYTES)
    except OSError:
        return b""


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def describe_foreign_files(files: Sequence[ForeignFile]) -> tuple[str, str]:
    """Return a description of the start-up files in `files`, and advice on what to do about them."""
    names = ", ".join(
        f"{file.path}{' (changed since it was installed)' if file.changed else ''}" for file in files[:3]
    )
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    effect = "run code" if any(file.runs for file in files) else "add folders to the module path"
    message = (
        f"Some files {effect} whenever {sys.executable} starts, "
        f"but belong to no installed package: {names}{more}."
    )
    return message, "Read these files, and remove what you did not install."
