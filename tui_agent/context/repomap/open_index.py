"""The open index of one repository map. Not thread-safe.

Invariant: a damaged index raises no error, but is deleted and built again.
"""

import sqlite3
import struct
import zlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from tui_agent.context.repomap.graph import write_graph
from tui_agent.context.repomap.index_db import IndexFile, KnownFile, open_index, remove
from tui_agent.context.repomap.snapshot import Snapshot

BROKEN_INDEX_ERRORS = (sqlite3.Error, zlib.error, struct.error, ValueError, TypeError)
"""Types of the errors that reading a damaged index can raise."""


class OpenIndex:
    """The index at `path`, opened when it is first needed.

    `key`: see `IndexFile`.
    """

    def __init__(self, path: Path, key: Callable[[], str]) -> None:
        self._path, self._key = path, key
        self.index_file: IndexFile | None = None
        """The open index file."""
        self.snapshot: Snapshot | None = None
        """The content that was read from the open index file."""
        self._version = -1

    @property
    def known(self) -> Mapping[str, KnownFile]:
        """The files in the index, keyed by path."""
        return self.snapshot.known if self.snapshot is not None else {}

    def open(self) -> IndexFile | None:
        """Open or create the index; return None on failure."""
        if self.index_file is not None and not self.index_file.is_in_place():
            self.drop()
        if self.index_file is None:
            try:
                self.index_file = open_index(self._path, self._key())
            except (sqlite3.Error, OSError):
                return None
            self._version = -1
        return self.index_file

    def drop(self) -> None:
        """Close the index and drop the cached content."""
        if self.index_file is not None:
            self.index_file.close()
        self.index_file, self.snapshot, self._version = None, None, -1

    def discard(self) -> None:
        """Delete the index, so that it is rebuilt."""
        self.drop()
        remove(self._path)

    def fail(self, error: Exception) -> None:
        """Handle an error raised by reading the index: delete a damaged index, close a locked one."""
        if isinstance(error, sqlite3.OperationalError):
            self.drop()
        else:
            self.discard()

    def require_sound(self) -> None:
        """Delete the index if its pages are damaged even though the file could be opened."""
        index_file = self.open()
        if index_file is not None and not index_file.is_sound():
            self.discard()

    def reload(self) -> None:
        """Read the index again if another process has written to it."""
        index_file = self.open()
        if index_file is None:
            return
        try:
            version = index_file.data_version
            if version != self._version:
                self.snapshot, self._version = Snapshot(index_file, index_file.files()), version
        except sqlite3.Error as error:
            self.fail(error)

    def add_written(self, index_file: IndexFile, written: Collection[str], gone: Collection[str]) -> None:
        """Read the files in `written` again from the index, and drop the files in `gone`.

        Raise `BROKEN_INDEX_ERRORS` if the index is damaged.
        """
        changed = {*written, *gone}
        unchanged = {path: item for path, item in self.known.items() if path not in changed}
        self.snapshot = Snapshot(index_file, unchanged | index_file.files_at(written), self.snapshot)

    def refresh_graph(self) -> None:
        """Write the graph of the indexed files if it is outdated, and read the files' new ranks."""
        index_file = self.open()
        try:
            if index_file is not None and not index_file.meta("graph"):
                write_graph(index_file)
                self.snapshot = Snapshot(index_file, index_file.files(), self.snapshot)
        except BROKEN_INDEX_ERRORS as error:
            self.fail(error)

    def share(self, hidden: set[str]) -> None:
        """Exchange the hashes of hidden paths with other processes through the index.

        Add the other processes' hashes to the set `hidden`.
        """
        # So only one process has to check each path.
        index_file = self.open()
        if index_file is None:
            return
        try:
            known = set(index_file.meta("hidden").split())
            if not hidden <= known:
                with index_file.transaction():
                    index_file.set_meta("hidden", " ".join(sorted(hidden | known)))
            hidden |= known
        except sqlite3.Error as error:
            self.fail(error)
