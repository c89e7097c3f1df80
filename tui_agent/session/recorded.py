"""A session that is only read: its whole log, and the texts that it keeps beside it.

Invariant: takes no lock and writes nothing, so it works while another process holds the session.
"""

from pathlib import Path

from anyio import to_thread

from tui_agent.errors import BlobMissing
from tui_agent.protocol.base import LongText
from tui_agent.protocol.envelope import Record
from tui_agent.store.lineage import blobs_of
from tui_agent.store.reader import LogTail, read_records


class RecordedSession:
    """What lies in one session's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tail: LogTail | None = None

    @property
    def id(self) -> str:
        """The session's id."""
        return self.folder.name

    async def records(self) -> list[Record]:
        """Every event so far. Raises `SessionNotFound`."""
        return await to_thread.run_sync(read_records, self.folder)

    async def newer(self, after: int) -> list[Record]:
        """The events behind this one that are new since the last call: costs the new bytes only, but for the first."""
        if self._tail is None:
            self._tail = LogTail(self.folder, after)
        return await to_thread.run_sync(self._tail.poll)

    async def read_text(self, text: LongText) -> str:
        """The whole of a text, wherever it is kept; its preview and the reason where it cannot be read."""
        if isinstance(text, str):
            return text
        try:
            found = await to_thread.run_sync(blobs_of(self.folder).read, text.blob_sha256)
        except BlobMissing as fault:
            return f"{text.preview}\n\n{fault}"
        return found.decode("utf-8", "replace")
