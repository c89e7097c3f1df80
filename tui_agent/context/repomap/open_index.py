"""The index that one map holds: opened where it can be, read again where others wrote, let go or thrown away where it
cannot be read.

Invariant: whatever is wrong with the file, nobody is told of it by an error: there is no index then, or a new one. What is
known of it belongs to the file that is open now. Not thread-safe.
"""

import sqlite3
import struct
import zlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from tui_agent.context.repomap.index_db import Kept, Known, opened, remove
from tui_agent.context.repomap.snapshot import Snapshot

BROKEN = (sqlite3.Error, zlib.error, struct.error, ValueError, TypeError)
"""What reading an index raises that someone else has written into."""


class Held:
    """The index at `path`. `key` tells what it depends on beside the files; another one makes it empty."""

    def __init__(self, path: Path, key: Callable[[], str]) -> None:
        self._path, self._key = path, key
        self.kept: Kept | None = None
        """The file, where it is open."""
        self.snapshot: Snapshot | None = None
        """What was read of it."""
        self._version = -1

    @property
    def known(self) -> Mapping[str, Known]:
        """The files that it has, by their paths."""
        return self.snapshot.known if self.snapshot is not None else {}

    def open(self) -> Kept | None:
        """The file at the path; None where none can be kept."""
        if self.kept is not None and not self.kept.in_place():
            self.drop()
        if self.kept is None:
            try:
                self.kept = opened(self._path, self._key())
            except (sqlite3.Error, OSError):
                return None
            self._version = -1
        return self.kept

    def drop(self) -> None:
        """Let go of the file."""
        if self.kept is not None:
            self.kept.close()
        self.kept, self.snapshot, self._version = None, None, -1

    def discard(self) -> None:
        """Throw the index away, to be built anew."""
        self.drop()
        remove(self._path)

    def fail(self, error: sqlite3.Error) -> None:
        """It could not be read: an index that is broken is thrown away, one that only another process holds is tried again."""
        if isinstance(error, sqlite3.OperationalError):
            self.drop()
        else:
            self.discard()

    def require_sound(self) -> None:
        """Throw an index away whose pages do not hold what SQLite wrote, though it opens."""
        kept = self.open()
        if kept is not None and not kept.is_sound():
            self.discard()

    def reload(self) -> None:
        """Read again what it knows, where someone has written into it."""
        kept = self.open()
        if kept is None:
            return
        try:
            version = kept.data_version
            if version != self._version:
                self.snapshot, self._version = Snapshot(kept, kept.files()), version
        except sqlite3.Error as error:
            self.fail(error)

    def learn(self, kept: Kept, written: Collection[str], gone: Collection[str]) -> None:
        """Know what was just written into it here, without reading all of it. Raises what is `BROKEN`."""
        out = {*written, *gone}
        others = {path: one for path, one in self.known.items() if path not in out}
        self.snapshot = Snapshot(kept, others | kept.some(written), self.snapshot)

    def share(self, hidden: set[str]) -> None:
        """Keep which paths are not to be shown, as hashes, and learn of others', so that no process need ask again."""
        kept = self.open()
        if kept is None:
            return
        try:
            known = set(kept.meta("hidden").split())
            if not hidden <= known:
                with kept.writing():
                    kept.set_meta("hidden", " ".join(sorted(hidden | known)))
            hidden |= known
        except sqlite3.Error as error:
            self.fail(error)
