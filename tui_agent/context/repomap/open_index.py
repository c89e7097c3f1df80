"""The open index of one repository map. The index is read again after another process wrote to it.

Invariant: a damaged index raises no error. It is deleted, and a new index is built. Cached content always belongs to
the file that is open now. Not thread-safe.
"""

import sqlite3
import struct
import zlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from tui_agent.context.repomap.index_db import IndexFile, KnownFile, open_index, remove
from tui_agent.context.repomap.snapshot import Snapshot

BROKEN_INDEX_ERRORS = (sqlite3.Error, zlib.error, struct.error, ValueError, TypeError)
"""Types of the errors that can occur when an index is read that another program damaged."""


class OpenIndex:
    """The index at `path`, opened when it is first needed. For `key`, see `IndexFile`."""

    def __init__(self, path: Path, key: Callable[[], str]) -> None:
        self._path, self._key = path, key
        self.index_file: IndexFile | None = None
        """The open index file. None if no file is open."""
        self.snapshot: Snapshot | None = None
        """The content that was read from the open index file. None if nothing was read."""
        self._version = -1

    @property
    def known(self) -> Mapping[str, KnownFile]:
        """The files in the index by path."""
        return self.snapshot.known if self.snapshot is not None else {}

    def open(self) -> IndexFile | None:
        """Open the index, or create one. Return None if neither is possible."""
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

    def fail(self, error: sqlite3.Error) -> None:
        """Handle an error raised by reading the index.

        A damaged index is deleted. An index that another process has locked is closed.
        """
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
        """Update the cached content: read the files in `written` again from the index, and drop the files in `gone`.

        Raises `BROKEN_INDEX_ERRORS` if the index is damaged.
        """
        changed = {*written, *gone}
        unchanged = {path: item for path, item in self.known.items() if path not in changed}
        self.snapshot = Snapshot(index_file, unchanged | index_file.files_at(written), self.snapshot)

    def share(self, hidden: set[str]) -> None:
        """Exchange the hashes of hidden paths with other processes, so that each path is checked only once.

        The hashes that other processes stored are added to the set `hidden`.
        """
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
