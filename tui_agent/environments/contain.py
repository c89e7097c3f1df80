"""L3: paths of a workspace, opened so that nothing outside it can be reached.

Invariant: what decides is the file that is really opened. A path is resolved once, then every folder on the way is
opened from the root without following links, so a link put there in between is refused, not followed.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tui_agent.errors import EnvironmentFault

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
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


class Containment:
    """The folder `root` and how to get at what lies below it. Stateless: opens the root anew for each use."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._prefix = self.root if self.root.endswith("/") else self.root + "/"

    def resolve(self, path: str) -> str:
        """The absolute path after links are followed, wherever it leads; its end may not exist."""
        if "\0" in path:
            raise EnvironmentFault(f"The path {shown(path)} holds a NUL character.")
        try:
            return os.path.realpath(path if path.startswith("/") else f"{self.root}/{path}")
        except (OSError, ValueError) as error:
            raise EnvironmentFault(f"The path {shown(path)} cannot be resolved: {error}.") from error

    def parts(self, path: str) -> tuple[str, ...]:
        """The names from the root to the resolved path. Raises where it leads outside."""
        return self._inside(path, self.resolve(path))

    def entry(self, path: str) -> tuple[str, ...]:
        """The same, but a link at the end of the path stands for itself."""
        folder, slash, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            return self.parts(path)
        return self._inside(path, f"{self.resolve(folder + slash).rstrip('/')}/{name}")

    def _inside(self, path: str, real: str) -> tuple[str, ...]:
        if real == self.root:
            return ()
        if not real.startswith(self._prefix):
            raise EnvironmentFault(
                f"{shown(path)} lies outside the workspace.", hint="Use a path inside the workspace."
            )
        return tuple(real[len(self._prefix) :].split("/"))

    @contextmanager
    def folder(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
        """A descriptor of the folder, links refused on the whole way; `make` creates what is missing."""
        at = os.open(self.root, FOLDER_FLAGS)
        try:
            for name in parts:
                try:
                    below = os.open(name, FOLDER_FLAGS, dir_fd=at)
                except FileNotFoundError:
                    if not make:
                        raise
                    _make_folder(name, at)
                    below = os.open(name, FOLDER_FLAGS, dir_fd=at)
                os.close(at)
                at = below
            yield at
        finally:
            os.close(at)


def _make_folder(name: str, at: int) -> None:
    try:
        os.mkdir(name, dir_fd=at)
    except FileExistsError:
        return
    os.fsync(at)
