"""The files of a project that can steer the program, read once: what is hashed is what is used.

Invariant: looking never writes, follows no link below the folder, opens nothing but regular files, and ends: files,
bytes and depth are limited.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from tui_agent.config.files import read_regular, text_of
from tui_agent.config.paths import PROJECT_FOLDER

LONE_FILES = (".env", ".mcp.json")
"""Files beside `.tui_agent/` that are the project's too."""

MAX_FILES = 2_000
MAX_BYTES = 32 << 20
MAX_DEPTH = 12
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class ProjectFile:
    """One file as it was when it was read. `name` is below the folder, with `/`; one with a `fault` has no content."""

    name: str
    content: bytes = field(default=b"", repr=False)
    fault: str = ""
    """Why it can be bound to no content: a link, a device, too large."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class ProjectFiles:
    """What a folder holds, sorted by name. `folder` is its real path."""

    folder: Path
    files: tuple[ProjectFile, ...] = ()

    @property
    def fault(self) -> str:
        """Why it cannot be trusted, about the first file that is in the way; empty where it can."""
        return next((f"{one.name} {one.fault}" for one in self.files if one.fault), "")

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digest of each file by its name."""
        return {one.name: one.digest for one in self.files if not one.fault}

    @cached_property
    def key(self) -> str:
        """One digest for the place and everything in it."""
        return key_of(self.folder, self.digests)

    def text(self, name: str) -> str | None:
        """The text of the file of this name; None where there is none. Raises `ConfigError` where it is no text."""
        found = next((one for one in self.files if one.name == name and not one.fault), None)
        return None if found is None else text_of(found.content, self.folder / name)

    def own(self, name: str) -> str | None:
        """The text of a file in the project's folder `.tui_agent`."""
        return self.text(f"{PROJECT_FOLDER}/{name}")


def key_of(folder: Path, digests: Mapping[str, str]) -> str:
    """One digest for a place and the digests of what is in it."""
    said = [str(folder), *(f"{len(name)}:{name}{digest}" for name, digest in sorted(digests.items()))]
    return hashlib.sha256("\n".join(said).encode("utf-8", "surrogateescape")).hexdigest()


def look(folder: Path) -> ProjectFiles:
    """Read the files of `folder` that can steer the program."""
    real = folder.resolve()
    try:
        top = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ProjectFiles(real)  # the folder is gone, or cannot be looked into
    try:
        found = sorted(_Look().all(top), key=lambda one: one.name)
    finally:
        os.close(top)
    return ProjectFiles(real, tuple(found))


class _Look:
    """One look, with what is left of its limits."""

    def __init__(self) -> None:
        self._files, self._bytes = MAX_FILES, MAX_BYTES

    def all(self, top: int) -> Iterator[ProjectFile]:
        for name in (PROJECT_FOLDER, *LONE_FILES):
            yield from self._one(top, name, name, 0)

    def _one(self, within: int, name: str, shown: str, depth: int) -> Iterator[ProjectFile]:
        if self._files < 0 or _compiled(name):
            return
        try:
            mode = os.stat(name, dir_fd=within, follow_symlinks=False).st_mode
            if not stat.S_ISDIR(mode):
                yield self._file(within, name, shown, mode)
            elif depth == MAX_DEPTH:
                yield ProjectFile(shown, fault="is a folder that is nested too deeply")
            elif shown not in LONE_FILES:  # a folder of that name is something else, an environment say
                yield from self._folder(within, name, shown, depth)
        except FileNotFoundError:
            return
        except OSError as error:
            yield ProjectFile(shown, fault=f"cannot be read: {error.strerror}")

    def _folder(self, within: int, name: str, shown: str, depth: int) -> Iterator[ProjectFile]:
        inner = os.open(name, _FOLDER, dir_fd=within)
        try:
            with os.scandir(inner) as entries:
                names = sorted(entry.name for entry in islice(entries, MAX_FILES + 1))
            for below in names:
                yield from self._one(inner, below, f"{shown}/{below}", depth + 1)
        finally:
            os.close(inner)

    def _file(self, within: int, name: str, shown: str, mode: int) -> ProjectFile:
        self._files -= 1
        if self._files < 0:
            return ProjectFile(shown, fault=f"and more: over {MAX_FILES} files")
        if stat.S_ISLNK(mode):
            return ProjectFile(shown, fault=f"is a link to {os.readlink(name, dir_fd=within)}")
        if not stat.S_ISREG(mode):
            return ProjectFile(shown, fault=_kind(mode))
        content = read_regular(name, self._bytes + 1, os.O_NOFOLLOW, within=within)
        if content is None:
            return ProjectFile(shown, fault="is no plain file")
        if len(content) > self._bytes:
            return ProjectFile(shown, fault=f"is too large: over {MAX_BYTES >> 20} MiB together")
        self._bytes -= len(content)
        return ProjectFile(shown, content)


def _compiled(name: str) -> bool:
    """What Python makes of a source file: never used, for the source is what was looked at."""
    return name == "__pycache__" or name.endswith((".pyc", ".pyo"))


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "is a pipe"
    return "is a socket" if stat.S_ISSOCK(mode) else "is a device"
