"""Paths of a workspace, opened so that nothing outside it can be reached.

Invariant: what decides is the file that is really opened. A path is resolved once, then its folder is opened from the
root of the file system without following links (see `opening`), so a link put there in between is refused, not followed.
"""

import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tui_agent.errors import EnvironmentFault
from tui_agent.workspace.local.nofollow import OpenFolder, entered, fitting, made
from tui_agent.workspace.local.path_spelling import DiskNames, Names, spelled

MAX_DEPTH = 1000
"""Folders below each other; what lies deeper is not reached."""
MAX_WAY = 100
"""What a path may have beyond that in `..` and slashes to be looked up."""
MAX_PATH = 4096
_ESCAPED = re.compile(r"\\udc([89a-f][0-9a-f])")
"""A byte of a name that is no UTF-8, as `shown`."""
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "lies below something that is no folder",
    errno.EISDIR: "is a folder",
    errno.ELOOP: "is a link that cannot be followed here",
    errno.EACCES: "may not be accessed (permission denied)",
    errno.EPERM: "may not be changed (operation not permitted)",
    errno.ENOSPC: "could not be written: the disk is full",
    errno.EDQUOT: "could not be written: the disk quota is used up",
    errno.EROFS: "lies on a read-only file system",
    errno.ENAMETOOLONG: "has too long a name",
    errno.ENXIO: "is no regular file",
    errno.EMFILE: "could not be opened: too many open files",
}


def fault(path: str, error: OSError) -> EnvironmentFault:
    """An operating system error about `path`, in words."""
    reason = _REASONS.get(error.errno or 0) or f"failed: {error.strerror or error}"
    return EnvironmentFault(f"{shown(path)} {reason}.")


def shown(path: str) -> str:
    """A path fit for a message: what cannot be printed or encoded is escaped."""
    text = path.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text) or "."


def _must_be_sound(path: str) -> None:
    """Raises where no file can have this name."""
    if "\0" in path:
        raise EnvironmentFault(f"The path {shown(path)} holds a NUL character.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise EnvironmentFault(f"The path {shown(path)} holds half a character.") from error


def _endless(path: str) -> bool:
    return len(path) > MAX_PATH or path.count("/") > MAX_DEPTH + MAX_WAY


class Containment:
    """The folder `root` and how to get at what lies below it. Stateless: opens it anew for each use.

    With `exact` a path is taken as the real one that it is: a link anywhere in it is refused.
    """

    def __init__(
        self,
        root: str,
        *,
        exact: bool = False,
        open_folder: OpenFolder | None = None,
        names: Names | None = None,
    ) -> None:
        self.root = root if exact else os.path.realpath(root)
        self._prefix = self.root if self.root.endswith("/") else self.root + "/"
        self._above = tuple(name for name in self.root.split("/") if name)
        self._exact = exact
        self._open = open_folder or fitting()
        self._names = names or DiskNames()

    def exactly(self) -> "Containment":
        """The whole file system, opened in the same way, by real paths only."""
        return self.at("/")

    def at(self, folder: str) -> "Containment":
        """The same below another folder (its real path), by real paths only."""
        return Containment(folder, exact=True, open_folder=self._open, names=self._names)

    def resolve(self, path: str) -> str:
        """The absolute path after links are followed, as folders spell it, wherever it leads; its end may not exist."""
        return self._resolved(path, {})

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        """The same for each of several: the folders that they lie in are looked up once."""
        folders: dict[str, str] = {}
        return {path: self._resolved(path, folders) for path in paths}

    def _resolved(self, path: str, folders: dict[str, str]) -> str:
        _must_be_sound(path)
        path = self._meant(path)
        whole = self._whole(path)
        if self._exact or _endless(path):  # nothing is looked up of what cannot be opened either
            return "/" + os.path.normpath(whole).lstrip("/")
        try:
            return self._followed(whole, folders)
        except OSError as error:
            raise EnvironmentFault(f"The path {shown(path)} cannot be resolved: {error}.") from error

    def _whole(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.root}/{path}"

    def _meant(self, path: str) -> str:
        """The path; where nothing has it, that of the file which is `shown` so, since nobody can type its name."""
        if self._exact or "\\udc" not in path or _endless(path) or os.path.lexists(self._whole(path)):  # noqa: PTH - as above
            return path
        named = _ESCAPED.sub(lambda byte: chr(0xDC00 + int(byte[1], 16)), path)
        return named if os.path.lexists(self._whole(named)) else path

    def _followed(self, path: str, folders: dict[str, str]) -> str:
        """An absolute path where it leads, by that of its folder, which stands in `folders` from then on."""
        folder, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            return self._looked_up(path)
        above = folders.get(folder)
        if above is None:
            above = folders[folder] = self._looked_up(folder or "/")
        whole = f"{above.rstrip('/')}/{name}"
        if os.path.islink(whole):  # noqa: PTH114 - a thousand times for a long line
            return self._looked_up(path)
        return spelled(whole, above, self._names)

    def _looked_up(self, path: str) -> str:
        real = os.path.realpath(path)
        return self.root if real == self.root else spelled(real, self.root, self._names)

    def parts(self, path: str) -> tuple[str, ...]:
        """The names from the root to the resolved path. Raises where it leads outside."""
        return self._inside(path, self.resolve(path))

    def entry(self, path: str) -> tuple[str, ...]:
        """The same, but a link at the end of the path stands for itself."""
        _must_be_sound(path)
        path = self._meant(path)
        folder, slash, name = path.rstrip("/").rpartition("/")
        if self._exact or name in ("", ".", ".."):
            return self.parts(path)
        above = self.resolve(folder + slash).rstrip("/")
        return self._inside(path, spelled(f"{above}/{name}", above or "/", self._names))

    def _inside(self, path: str, real: str) -> tuple[str, ...]:
        if real == self.root:
            return ()
        if not real.startswith(self._prefix):
            raise EnvironmentFault(
                f"{shown(path)} lies outside the workspace.", hint="Use a path inside the workspace."
            )
        parts = tuple(real[len(self._prefix) :].split("/"))
        if len(parts) > MAX_DEPTH or _endless(path):
            raise EnvironmentFault(
                f"{shown(path)[:80]}… is longer than {MAX_PATH:,} characters or {MAX_DEPTH:,} folders."
            )
        return parts

    def enter(self, parts: tuple[str, ...]) -> int:
        """A descriptor of the folder to start programs in, links refused on the whole way; whoever asks closes it."""
        return entered((*self._above, *parts))

    @contextmanager
    def folder(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
        """A descriptor of the folder, links refused on the whole way; `make` creates what is missing below the root."""
        names = (*self._above, *parts)
        try:
            at = self._open(names)
        except FileNotFoundError:
            if not make:
                raise
            at = made(names, len(self._above))
        try:
            yield at
        finally:
            os.close(at)
