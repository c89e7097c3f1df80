"""Reader for the parts of the session that are needed on demand, e.g. long texts and events."""

import asyncio
import contextlib
import sys
from collections.abc import Callable

from tui_agent.errors import BlobNotFound
from tui_agent.folds.comparison.line_authors import SessionDiff
from tui_agent.folds.comparison.net_changes import diff_contents
from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.folds.transcript.entries import AnswerEntry
from tui_agent.ports.session import read_text
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.stored_text import LongText, text_preview
from tui_agent.tui.app_context import AppContext


class SessionReader:
    """Reads texts and records of the open session."""

    def __init__(self, context: AppContext) -> None:
        self._context = context

    async def read_text(self, text: LongText) -> str:
        """Return the whole text; if it cannot be read, return its preview and the error."""
        if self._context.session is None:
            return text_preview(text)
        try:
            return await read_text(self._context.session, text)
        except BlobNotFound as fault:
            return f"{text_preview(text)}\n\n{fault}"

    def blob_text(self, text: LongText, arrived: Callable[[str], None]) -> str:
        """Return a text, or a preview if the text is stored outside the log.

        `arrived`: called with the whole text once it is read.
        """
        if not isinstance(text, str):

            async def read() -> None:
                arrived(await self.read_text(text))

            self._context.worker(read(), "blob")
        return text_preview(text)

    async def last_answer(self) -> str:
        """Return the whole text of the newest non-empty answer in the loaded part of the session."""
        entries = self._context.views.transcript.view().entries
        answers = (entry.text for entry in reversed(entries) if isinstance(entry, AnswerEntry))
        return await self.read_text(next((text for text in answers if text_preview(text).strip()), ""))

    async def compare(self, file: ChangedFile) -> tuple[SessionDiff | None, str]:
        """Return the diff of the session's changes to a file. If the diff is empty, a note says why."""
        contents: dict[str, bytes] = {}
        for digest in file.versions:
            if digest is not None and digest not in contents and self._context.session is not None:
                with contextlib.suppress(BlobNotFound):
                    contents[digest] = await self._context.session.read_blob(digest)
        return await asyncio.to_thread(diff_contents, file, contents.get)

    async def events_between(self, first: int, last: int, limit: int = sys.maxsize) -> list[Record]:
        """Return the records from `first` to `last`, both included, but not more than `limit`."""
        session, views = self._context.session, self._context.views
        records: list[Record] = []
        if session is None or views.seq < first:
            return records
        follower = session.follow(first - 1)
        try:
            while len(records) < limit and (batch := await follower.next_batch()):
                records.extend(record for record in batch if record.seq <= last)
                if batch[-1].seq >= min(last, views.seq):
                    break
        finally:
            follower.close()
        return records[:limit]
