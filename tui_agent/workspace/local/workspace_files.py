"""The files of a workspace on this machine, with the file methods of an environment.

Invariant: nothing here blocks the event loop, and no file outside the workspace is reached (see `containment`).
"""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from anyio import to_thread

from tui_agent.ports.environment import FileContent, FileInfo
from tui_agent.workspace.local.containment import Containment
from tui_agent.workspace.local.file_walk import next_batch, walk_files
from tui_agent.workspace.local.local_files import LocalFiles
from tui_agent.workspace.local.transfers import copy_merged, write_archive


class WorkspaceFiles:
    """The file methods of `ports.environment.Environment`, for the folder of `containment`."""

    def __init__(self, containment: Containment) -> None:
        self.containment = containment
        self._files = LocalFiles(containment)

    @property
    def root(self) -> str:
        return self.containment.root

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        """Read a regular file."""
        return await to_thread.run_sync(self._files.read, path, max_bytes)

    async def write(self, path: str, data: bytes, expected_digest: str | None) -> FileContent:
        """Replace or create a file; cannot be cancelled after the file has changed."""
        return await to_thread.run_sync(self._files.write, path, data, expected_digest)

    async def remove(self, path: str, expected_digest: str) -> None:
        """Remove a file if it still has the digest `expected_digest`."""
        await to_thread.run_sync(self._files.remove, path, expected_digest)

    async def stat(self, path: str) -> FileInfo | None:
        """Return the properties of a file or folder, without following a link at the end of the path."""
        return await to_thread.run_sync(self._files.stat, path)

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """Return a folder's entries, sorted by name."""
        return await to_thread.run_sync(self._files.listdir, path)

    async def walk(self, path: str = "", *, include_ignored: bool = False) -> AsyncIterator[FileInfo]:
        """Yield files and links below a path, read by a thread in batches."""
        files = walk_files(self.containment, path, include_ignored)
        while batch := await to_thread.run_sync(next_batch, files):
            for item in batch:
                yield item

    def resolve(self, path: str) -> str:
        """Return the absolute path with all links followed, even if it is outside the workspace."""
        return self.containment.resolve(path)

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        return self.containment.resolve_all(paths)

    async def upload(self, local: Path, path: str) -> None:
        """Copy a file or folder to a path in the workspace."""
        await to_thread.run_sync(copy_merged, local, self._find_inside(path))

    async def download(self, path: str, local: Path) -> None:
        """Copy a file or folder of the workspace to `local`."""
        await to_thread.run_sync(copy_merged, self._find_inside(path), local)

    async def snapshot(self, to: Path) -> None:
        """Write the workspace as a `tar.gz` archive."""
        await to_thread.run_sync(write_archive, Path(self.root), to)

    def _find_inside(self, path: str) -> Path:
        return Path(self.root, *self.containment.resolve_parts(path))
