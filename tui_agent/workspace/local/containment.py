"""Paths of a workspace, opened so that nothing outside the workspace can be reached.

Invariant: a link that is created between the check of a path and its opening is refused.
"""

import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tui_agent.errors import EnvironmentFault
from tui_agent.protocol.unicode_text import escape_unprintable
from tui_agent.units import format_number
from tui_agent.workspace.local.nofollow_open import (
    OpenFolder,
    best_open_folder,
    open_or_create,
    open_to_enter,
)
from tui_agent.workspace.local.path_spelling import NameLookup, listed_spelling

MAX_DEPTH = 1000
"""Maximum number of nested folders."""
MAX_EXTRA_PARTS = 100
"""Maximum number of `..` parts and repeated slashes in a path, in addition to `MAX_DEPTH` names."""
MAX_PATH = 4096
_ESCAPED = re.compile(r"\\udc([89a-f][0-9a-f])")
"""Matches a byte in a file's name that is not valid UTF-8, as `printable_path` displays it."""
# `O_NONBLOCK`: opening a named pipe must not wait for a writer. `O_NOCTTY`: a terminal must not become the terminal
# that controls this process.
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "has a parent that is not a folder",
    errno.EISDIR: "is a folder",
    errno.ELOOP: "is a link that cannot be followed here",
    errno.EACCES: "cannot be accessed (permission denied)",
    errno.EPERM: "cannot be changed (operation not permitted)",
    errno.ENOSPC: "could not be written: the disk is full",
    errno.EDQUOT: "could not be written: the disk quota is used up",
    errno.EROFS: "is on a read-only file system",
    errno.ENAMETOOLONG: "has a name that is too long",
    errno.ENXIO: "is not a regular file",
    errno.EMFILE: "could not be opened: too many open files",
}


def path_error(path: str, error: OSError) -> EnvironmentFault:
    """Return the `EnvironmentFault` for an operating system error about `path`."""
    reason = _REASONS.get(error.errno or 0) or f"failed: {error.strerror or error}"
    return EnvironmentFault(f"{printable_path(path)} {reason}.")


def is_within(path: str, folder: str) -> bool:
    """Return True if the absolute path `path` is `folder` or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def printable_path(path: str) -> str:
    """Return a path for a message, with unprintable and undecodable characters escaped."""
    return escape_unprintable(path) or "."


def _check_characters(path: str) -> None:
    if "\0" in path:
        raise EnvironmentFault(f"The path {printable_path(path)} contains a NUL character.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise EnvironmentFault(
            f"The path {printable_path(path)} contains a code point that is not a character."
        ) from error


def _is_too_long(path: str) -> bool:
    return len(path) > MAX_PATH or path.count("/") > MAX_DEPTH + MAX_EXTRA_PARTS


class Containment:
    """Access to the folder `root` and everything below it.

    `exact`: True to refuse a path that contains a link.
    """

    def __init__(
        self,
        root: str,
        *,
        exact: bool = False,
        open_folder: OpenFolder | None = None,
        names: NameLookup | None = None,
    ) -> None:
        self.root = root if exact else os.path.realpath(root)
        self._prefix = self.root if self.root.endswith("/") else self.root + "/"
        self._root_names = tuple(name for name in self.root.split("/") if name)
        self._exact = exact
        self._open = open_folder or best_open_folder()
        self._names = names or NameLookup()

    def whole_file_system(self) -> "Containment":
        """Return a `Containment` for the whole file system that refuses paths with a link."""
        return self.for_folder("/")

    def for_folder(self, folder: str) -> "Containment":
        """Return a `Containment` for everything below the real path `folder` that refuses paths with a link."""
        return Containment(folder, exact=True, open_folder=self._open, names=self._names)

    def resolve(self, path: str) -> str:
        """Return the absolute path with links followed, spelled as on disk; the path need not exist."""
        return self._resolve_path(path, {})

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        """Resolve several paths, looking up each of their folders only once."""
        folders: dict[str, str] = {}
        return {path: self._resolve_path(path, folders) for path in paths}

    def _resolve_path(self, path: str, folders: dict[str, str]) -> str:
        _check_characters(path)
        path = self._unescape(path)
        absolute = self._absolute_path(path)
        if self._exact or _is_too_long(path):  # a path that cannot be opened is not resolved
            return "/" + os.path.normpath(absolute).lstrip("/")
        try:
            return self._follow_links(absolute, folders)
        except OSError as error:
            raise EnvironmentFault(f"The path {printable_path(path)} cannot be resolved: {error}.") from error

    def _absolute_path(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.root}/{path}"

    def _unescape(self, path: str) -> str:
        """Undo the escapes of `printable_path` in a path that does not exist as written."""
        if (
            self._exact
            or "\\udc" not in path
            or _is_too_long(path)
            or os.path.lexists(self._absolute_path(path))
        ):
            return path
        unescaped = _ESCAPED.sub(lambda byte: chr(0xDC00 + int(byte[1], 16)), path)
        return unescaped if os.path.lexists(self._absolute_path(unescaped)) else path

    def _follow_links(self, path: str, folders: dict[str, str]) -> str:
        folder, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            return self._real_path(path)
        # Many paths are in the same folders, so each folder is resolved once. Then only the last name can be a link.
        real_folder = folders.get(folder)
        if real_folder is None:
            real_folder = folders[folder] = self._real_path(folder or "/")
        real = f"{real_folder.rstrip('/')}/{name}"
        if os.path.islink(real):  # noqa: PTH114 - called a thousand times for a long line
            return self._real_path(path)
        return listed_spelling(real, real_folder, self._names)

    def _real_path(self, path: str) -> str:
        real = os.path.realpath(path)
        return self.root if real == self.root else listed_spelling(real, self.root, self._names)

    def resolve_parts(self, path: str) -> tuple[str, ...]:
        """Resolve a path and split it into the names below the root.

        Raise `EnvironmentFault` for a path outside the root.
        """
        return self._names_below_root(path, self.resolve(path))

    def resolve_entry(self, path: str) -> tuple[str, ...]:
        """Split a path into names below the root, like `resolve_parts`, without following a link at its end."""
        _check_characters(path)
        path = self._unescape(path)
        folder, slash, name = path.rstrip("/").rpartition("/")
        if self._exact or name in ("", ".", ".."):
            return self.resolve_parts(path)
        real_folder = self.resolve(folder + slash).rstrip("/")
        return self._names_below_root(
            path, listed_spelling(f"{real_folder}/{name}", real_folder or "/", self._names)
        )

    def _names_below_root(self, path: str, real: str) -> tuple[str, ...]:
        if real == self.root:
            return ()
        if not real.startswith(self._prefix):
            raise EnvironmentFault(
                f"{printable_path(path)} is outside the workspace.", hint="Use a path inside the workspace."
            )
        parts = tuple(real[len(self._prefix) :].split("/"))
        if len(parts) > MAX_DEPTH or _is_too_long(path):
            raise EnvironmentFault(
                f"{printable_path(path)[:80]}… has more than {format_number(MAX_PATH)} characters or {format_number(MAX_DEPTH)} folders."
            )
        return parts

    def open_to_enter(self, parts: tuple[str, ...]) -> int:
        """Open a folder in which a program will be started, and refuse links.

        The caller must close the returned descriptor.
        """
        return open_to_enter((*self._root_names, *parts))

    @contextmanager
    def open_folder(self, parts: tuple[str, ...], *, create: bool = False) -> Iterator[int]:
        """Yield an open descriptor of a folder; refuse links.

        `create`: True to create missing folders.
        """
        names = (*self._root_names, *parts)
        try:
            folder_fd = self._open(names)
        except FileNotFoundError:
            if not create:
                raise
            folder_fd = open_or_create(names, len(self._root_names))
        try:
            yield folder_fd
        finally:
            os.close(folder_fd)
