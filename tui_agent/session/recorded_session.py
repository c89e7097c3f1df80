"""A session opened for reading: its log and its blobs.

Invariant: nothing is locked or written.
"""

from pathlib import Path

from anyio import to_thread

from tui_agent.errors import BlobNotFound
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.stored_text import LongText
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_reader import LogTail, read_records


class RecordedSession:
    """The recorded events and texts in one session's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tail: LogTail | None = None

    @property
    def id(self) -> str:
        """The session's id."""
        return self.folder.name

    async def read_all(self) -> list[Record]:
        """Return all records that the log has so far. Raise `SessionNotFound` if there is no log."""
        return await to_thread.run_sync(read_records, self.folder)

    async def read_new(self, after: int) -> list[Record]:
        """Return the records added to the log since the last call. The first call returns all records after `after`."""
        if self._tail is None:
            self._tail = LogTail(self.folder, after)
        return await to_thread.run_sync(self._tail.poll)

    async def read_text(self, text: LongText) -> str:
        """Return the full text, or its preview and a reason if its blob cannot be read."""
        if isinstance(text, str):
            return text
        try:
            data = await to_thread.run_sync(open_blobs(self.folder).read, text.blob_sha256)
        except BlobNotFound as fault:
            return f"{text.preview}\n\n{fault}"
        return data.decode("utf-8", "replace")
