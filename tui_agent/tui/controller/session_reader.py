"""Reader for the parts of the session that are needed on demand, e.g. long texts and events."""

import asyncio
import contextlib
import sys
from collections.abc import Callable
from itertools import chain

from tui_agent.errors import BlobNotFound
from tui_agent.folds.comparison.hunk_authors import find_shared_hunks
from tui_agent.folds.comparison.net_changes import diff_contents
from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.folds.text.line_diff import LineDiff
from tui_agent.folds.transcript.entries import AnswerEntry
from tui_agent.ports.session import read_text
from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.envelope import Record
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

    async def compare(self, file: ChangedFile) -> tuple[LineDiff | None, str]:
        """Return the diff of a changed file. If the diff is empty, a note says why."""
        contents = await self._read_contents(file.before, file.after)
        return await asyncio.to_thread(diff_contents, file, contents.get)

    async def find_shared_hunks(self, file: ChangedFile, diff: LineDiff) -> frozenset[int]:
        """Return the indexes of the hunks that contain changes by the user or another session."""
        versions = chain.from_iterable(file.user_changes)
        contents = await self._read_contents(file.before, *versions, file.after)
        return await asyncio.to_thread(find_shared_hunks, file, diff.text, contents.get)

    async def _read_contents(self, *digests: str | None) -> dict[str, bytes]:
        """Return the stored contents by digest. Contents that are not stored are left out."""
        contents: dict[str, bytes] = {}
        for digest in digests:
            if digest is not None and digest not in contents and self._context.session is not None:
                with contextlib.suppress(BlobNotFound):
                    contents[digest] = await self._context.session.read_blob(digest)
        return contents

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
