"""Texts and records that are read when they are wanted: blobs, events, the last answer, the models of this machine."""

from collections.abc import Callable

from tui_agent.errors import BlobMissing
from tui_agent.folds.transcript.entries import AnswerEntry
from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.envelope import Record
from tui_agent.tui.cli_client import JsonRow, json_rows, place
from tui_agent.tui.context import AppContext


class SessionReader:
    """Reads from the present session."""

    def __init__(self, context: AppContext) -> None:
        self._context = context

    async def read_text(self, text: LongText) -> str:
        """The whole of a text, wherever it is kept; its preview where it cannot be read."""
        if isinstance(text, str) or self._context.session is None:
            return text_preview(text)
        try:
            return (await self._context.session.read_blob(text.blob_sha256)).decode("utf-8", "replace")
        except BlobMissing as fault:
            return f"{text.preview}\n\n{fault}"

    def blob_text(self, text: LongText, arrived: Callable[[str], None]) -> str:
        """What is known of a text now; `arrived` is called with the whole of it later, where that is more."""
        if not isinstance(text, str):

            async def read() -> None:
                arrived(await self.read_text(text))

            self._context.worker(read(), "blob")
        return text_preview(text)

    async def last_answer(self) -> str:
        """The agent's last words, whole."""
        for entry in reversed(self._context.views.transcript.view().entries):
            if isinstance(entry, AnswerEntry):
                return await self.read_text(entry.text)
        return ""

    async def events_between(self, first: int, last: int, most: int) -> list[Record]:
        """Records of the session by their seq, at most so many."""
        found: list[Record] = []
        if self._context.session is None:
            return found
        follower = self._context.session.follow(first - 1)
        try:
            while (
                len(found) < most and (not found or found[-1].seq < last) and self._context.views.seq >= first
            ):
                batch = await follower.next()
                if not batch:
                    break
                found.extend(record for record in batch if record.seq <= last)
                if batch[-1].seq >= min(last, self._context.views.seq):
                    break
        finally:
            follower.close()
        return found[:most]

    async def models_here(self) -> list[JsonRow]:
        """The models that could be used now."""
        _, said = await self._context.ask("models", "list", "--json", *place(self._context.app.options))
        return json_rows(said)
