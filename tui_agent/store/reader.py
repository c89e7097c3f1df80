"""L1: reading a session's log without holding it, also while another process writes.

Invariant: only whole lines whose checksum fits are delivered; a reader changes nothing.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from tui_agent.errors import SessionNotFound
from tui_agent.protocol.envelope import Record
from tui_agent.store.blobs import BlobStore
from tui_agent.store.bulk import many_objects
from tui_agent.store.line import decode
from tui_agent.store.repair import EVENTS
from tui_agent.store.scan import lines, records

TAIL_BYTES = 256 * 1024


def read_records(
    folder: Path, after: int = -1, limit: int | None = None, *, skip_deltas: bool = False
) -> list[Record]:
    """The records with `seq` > `after`, at most `limit`, in order. Raises `SessionNotFound`.

    `skip_deltas` leaves out the deltas of requests that have ended; folds give the same views without them, but for
    the `seq` and `at` at which a streamed entry began.
    """
    found: list[Record] = []
    if limit is not None and limit <= 0:
        return found
    with many_objects():
        for record in records(_bytes(folder), blobs_of(folder), after=after, skip_deltas=skip_deltas):
            found.append(record)
            if limit is not None and len(found) >= limit:
                break
    return found


def iterate_records(folder: Path, after: int = -1) -> Iterator[Record]:
    """The records with `seq` > `after` one by one, without the deltas of requests that have ended.

    Reads the file at once and decodes as it is pulled. Raises `SessionNotFound`.
    """
    return iter(records(_bytes(folder), blobs_of(folder), after=after, skip_deltas=True))


def stored_lines(folder: Path, after: int = -1) -> Iterator[tuple[int, str]]:
    """The log's whole lines as they stand there, without the newline, each with its `seq`. Raises `SessionNotFound`."""
    for _, line in lines(_bytes(folder)):
        record = decode(line)
        if record is not None and record.seq > after:
            yield record.seq, line.decode("utf-8", "replace")


def read_tail(folder: Path, count: int = 200, *, max_bytes: int = TAIL_BYTES) -> list[Record]:
    """The last records, at most `count`, from at most the last `max_bytes` of the log."""
    data = tail_bytes(folder / EVENTS, max_bytes)
    return list(records(data, blobs_of(folder)))[-count:] if count > 0 else []


class LogTail:
    """Reads on from where it stopped, while another process writes. `poll` costs the new bytes only."""

    def __init__(self, folder: Path, after: int = -1) -> None:
        self._folder = folder
        self._blobs = blobs_of(folder)
        self._after = after
        self._offset = 0
        self._file: tuple[int, int] | None = None

    def poll(self) -> list[Record]:
        """The whole records that have come since the last call; a half line waits for the next one."""
        try:
            with (self._folder / EVENTS).open("rb") as log:
                status = os.fstat(log.fileno())
                if (status.st_dev, status.st_ino) != self._file or status.st_size < self._offset:
                    self._file, self._offset = (status.st_dev, status.st_ino), 0
                log.seek(self._offset)
                data = log.read()
        except FileNotFoundError:
            return []
        end = data.rfind(b"\n") + 1
        self._offset += end
        with many_objects():
            new = list(records(data[:end], self._blobs, after=self._after))
        if new:
            self._after = new[-1].seq
        return new


def blobs_of(folder: Path) -> BlobStore:
    """The blobs of a session, for reading."""
    return BlobStore(folder / "blobs")


def tail_bytes(path: Path, size: int) -> bytes:
    """The last bytes of a log, from the beginning of a line on."""
    with path.open("rb") as log:
        start = max(0, log.seek(0, os.SEEK_END) - size)
        log.seek(start)
        data = log.read()
    return data if start == 0 else data[data.find(b"\n") + 1 :]


def _bytes(folder: Path) -> bytes:
    try:
        return (folder / EVENTS).read_bytes()
    except FileNotFoundError as fault:
        raise SessionNotFound(
            f"There is no session {folder.name} in {folder.parent}.", hint="`sessions list` shows them."
        ) from fault
