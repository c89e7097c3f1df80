"""Search in the transcript, including the long texts that are stored outside of it.

Invariant: a newer search replaces one that still reads texts.
"""

import asyncio
import re
from typing import TYPE_CHECKING

from tui_agent.protocol.base import BlobText
from tui_agent.tui.text import clean_line
from tui_agent.tui.time_slice import Slices
from tui_agent.tui.transcript.draw import long_texts
from tui_agent.tui.transcript.find import pattern_of

if TYPE_CHECKING:
    from tui_agent.tui.controller.chat import Chat, ChatWidget


class ChatSearch:
    """A search in the whole transcript, including long texts that are stored outside of it."""

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat
        self._wanted = ""

    async def run(self, widget: "ChatWidget", text: str) -> None:
        """Read the long texts that contain `text`, then go to the first match."""
        self._wanted = text
        if progress := self._chat.context.sessions.load_progress:
            self._chat.app.say(f"/find starts when the whole session is loaded: {progress}.")
            await self._chat.context.sessions.wait_until_whole()
        await self._read_long_texts(pattern_of(text))
        if widget is not self._chat.widget or text != self._wanted:
            return
        await widget.extend_to(0)
        count = await widget.find(text)
        if text != self._wanted:
            return
        if not count:
            widget.close_find()
            self._chat.app.say(f'Nothing matches "{text}".', "warning")
        elif not self._chat.context.prompt.text:
            widget.screen.set_focus(widget)

    def show_place(self, text: str, place: str) -> None:
        """Show the place of the current match beside the policy; on a small screen, in a notice."""
        app = self._chat.app
        shown = f'"{clean_line(text)[:30]}" {place}' if place else ""
        app.prompt.set_find_place(shown)
        if shown and not app.shape.policy_row:
            app.say(shown)
        app.show_keys()

    async def _read_long_texts(self, pattern: re.Pattern[str]) -> None:
        """Load the long texts that match, so that the search finds them."""
        blobs, slices = dict[str, BlobText](), Slices()
        for entry in self._chat.entries:
            blobs.update((blob.blob_sha256, blob) for blob in long_texts(entry))
            await slices.turn()
        for digest, blob in blobs.items():
            if digest in self._chat.blobs:
                continue
            whole = await self._chat.context.reader.read_text(blob)
            if await asyncio.to_thread(pattern.search, whole) is not None:
                self._chat.keep_blob(blob, whole)
