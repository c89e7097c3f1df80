"""The project files that can configure the program.

Invariant: reading writes nothing, follows no link below the folder, and has size limits.
"""
# Each file is read only once, so that the content that is used is the content that was hashed.

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.config.project.other_agents_files import PROJECT_HOOKS, PROJECT_LAYOUTS, PROJECT_SETTINGS
from tui_agent.config.small_files import decode_text, read_regular
from tui_agent.units import format_bytes

LONE_FILES = (".env", ".mcp.json")
"""Names of project files outside `.tui_agent/`."""

MAX_FILES = 2_000
MAX_BYTES = 32 << 20
MAX_DEPTH = 12
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class ProjectFile:
    """A project's file with the content that was read.

    `name`: path relative to the project files' folder, with `/` as separator.
    """

    name: str
    content: bytes = field(default=b"", repr=False)
    fault: str = ""
    """The reason why the content cannot be trusted (for example, the file is a link), or empty."""

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class ProjectFiles:
    """The files of a folder that can configure the program, sorted by name.

    `folder`: the folder's real path.
    """

    folder: Path
    files: tuple[ProjectFile, ...] = ()
    left_out: tuple[ProjectFile, ...] = ()
    """Files of other programs that cannot be trusted, with the reasons. They are never used."""

    @property
    def fault(self) -> str:
        """The reason why the first faulty file cannot be trusted; empty if all files can be trusted."""
        return next((f"{file.name} {file.fault}" for file in self.files if file.fault), "")

    @cached_property
    def digests(self) -> dict[str, str]:
        return {file.name: file.digest for file in self.files if not file.fault}

    @cached_property
    def key(self) -> str:
        """A hash of the folder's path and the contents of its project files. The hash identifies a trust decision."""
        return content_key(self.folder, self.digests)

    def read_text(self, name: str) -> str | None:
        """Return the text of a file, or None if the file does not exist.

        Raise `ConfigError` if the file is not text.
        """
        file = next((other for other in self.files if other.name == name and not other.fault), None)
        return None if file is None else decode_text(file.content, self.folder / name)

    def read_own(self, name: str) -> str | None:
        """Return the text of a file in the project's `.tui_agent` folder, or None if the file does not exist."""
        return self.read_text(f"{PROJECT_FOLDER}/{name}")


def content_key(folder: Path, digests: Mapping[str, str]) -> str:
    """Return a single hash over a folder's path and the hashes of its files."""
    parts = [str(folder), *(f"{len(name)}:{name}{digest}" for name, digest in sorted(digests.items()))]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def read_project_files(folder: Path) -> ProjectFiles:
    """Read the files of `folder` that can configure the program."""
    real = folder.resolve()
    try:
        top = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ProjectFiles(real)  # the folder is gone or unreadable
    try:
        reader = _ProjectReader()
        files = sorted(reader.read_all(top), key=lambda file: file.name)
    finally:
        os.close(top)
    return ProjectFiles(real, tuple(files), tuple(reader.left_out))


class _ProjectReader:
    """Reads the project files in a folder once, up to a maximum number of files and bytes."""

    def __init__(self) -> None:
        self._files, self._bytes = MAX_FILES, MAX_BYTES
        self.left_out: list[ProjectFile] = []

    def read_all(self, top: int) -> Iterator[ProjectFile]:
        for name in (PROJECT_FOLDER, *LONE_FILES):
            yield from self._read_entry(top, name, name, 0)
        settings = [file for name in PROJECT_SETTINGS for file in self._read_layout(top, name)]
        # Settings of another program need trust only if they have hooks: nothing else of them is used.
        with_hooks = [file for file in settings if not file.fault and b'"hooks"' in file.content]
        yield from with_hooks
        layouts = [layout for folders in PROJECT_LAYOUTS.values() for layout in folders]
        for shown in (*layouts, PROJECT_HOOKS) if with_hooks else layouts:
            for file in self._read_layout(top, shown):
                if file.fault:
                    self.left_out.append(file)
                else:
                    yield file

    def _read_layout(self, top: int, shown: str) -> Iterator[ProjectFile]:
        folder, _, name = shown.partition("/")
        try:
            within = os.open(folder, _FOLDER, dir_fd=top)
        except OSError:
            return
        try:
            yield from self._read_entry(within, name, shown, 1)
        finally:
            os.close(within)

    def _read_entry(self, within: int, name: str, shown: str, depth: int) -> Iterator[ProjectFile]:
        if self._files < 0 or _is_bytecode(name):
            return
        try:
            # Relative to the opened folder: if a folder above is replaced by a link meanwhile, nothing outside is
            # read.
            mode = os.stat(name, dir_fd=within, follow_symlinks=False).st_mode
            if not stat.S_ISDIR(mode):
                yield self._read_file(within, name, shown, mode)
            elif depth == MAX_DEPTH:
                yield ProjectFile(shown, fault="is a folder that is nested too deeply")
            elif shown not in LONE_FILES:  # a folder named `.env` may be a virtual environment
                yield from self._read_folder(within, name, shown, depth)
        except FileNotFoundError:
            return
        except OSError as error:
            yield ProjectFile(shown, fault=f"cannot be read: {error.strerror}")

    def _read_folder(self, within: int, name: str, shown: str, depth: int) -> Iterator[ProjectFile]:
        inner = os.open(name, _FOLDER, dir_fd=within)
        try:
            with os.scandir(inner) as entries:
                names = sorted(entry.name for entry in islice(entries, MAX_FILES + 1))
            for entry_name in names:
                yield from self._read_entry(inner, entry_name, f"{shown}/{entry_name}", depth + 1)
        finally:
            os.close(inner)

    def _read_file(self, within: int, name: str, shown: str, mode: int) -> ProjectFile:
        self._files -= 1
        if self._files < 0:
            return ProjectFile(shown, fault=f"exceeds the limit of {MAX_FILES} files")
        if stat.S_ISLNK(mode):
            return ProjectFile(shown, fault=f"is a link to {os.readlink(name, dir_fd=within)}")
        if not stat.S_ISREG(mode):
            return ProjectFile(shown, fault=_describe_kind(mode))
        content = read_regular(name, self._bytes + 1, os.O_NOFOLLOW, folder_fd=within)
        if content is None:
            return ProjectFile(shown, fault="is not a regular file")
        if len(content) > self._bytes:
            return ProjectFile(
                shown, fault=f"is too large: the limit is {format_bytes(MAX_BYTES)} for all files"
            )
        self._bytes -= len(content)
        return ProjectFile(shown, content)


def _is_bytecode(name: str) -> bool:
    """Return True for Python's cache files, which are never loaded."""
    return name == "__pycache__" or name.endswith((".pyc", ".pyo"))


def _describe_kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "is a pipe"
    return "is a socket" if stat.S_ISSOCK(mode) else "is a device"
