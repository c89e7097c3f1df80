"""The search for an event in a replay.

Invariant: the search does not block the screen.
"""

import asyncio
import json
from collections.abc import Sequence

from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.model import ModelDelta
from tui_agent.protocol.events.tool import ToolProgress
from tui_agent.tui.screens.replay.event_actions import EventActions
from tui_agent.tui.widgets.field import Field


class ReplaySearch(EventActions):
    """The replay screen with its search field; the subclass `ReplayScreen` adds the keys that move through the session."""

    _query = ""
    """The text of the last search."""

    def show_keys(self) -> None:
        if self.field is None:
            super().show_keys()
        else:
            hint = self.key_map.hint
            self.footer.set_keys([hint("field_use", "find"), hint("field_leave", "cancel")])

    def find(self) -> None:
        """Open the field for the text of a search."""
        if self.ready:
            self.field = Field(self._query)
            self.show_head()

    def end_typing(self, keep: bool) -> None:
        """Close the search field, and search for the typed text if `keep` is set."""
        field, self.field = self.field, None
        if field is not None and keep and field.text.strip():
            self._query = field.text
            self.find_again(1)
        self.show_head()

    def find_again(self, direction: int) -> None:
        """Repeat the last search, forward if `direction` is 1, or backward if it is -1."""
        if self._query and self.ready:
            self.start_worker(self._find(forward=direction > 0), "find")

    async def _find(self, *, forward: bool) -> None:
        place, records = self.playhead.place, self.moments.records
        match = await asyncio.to_thread(search_text, records, self._query, place, forward=forward)
        if match is None:
            self.say(f'No event contains "{self._query}".', "warning")
            return
        self.move_to(match)
        is_wrapped = match <= place if forward else match >= place
        start = f"Search continued at the {'beginning' if forward else 'end'}. " if is_wrapped else ""
        keys = f"{self.key_map.key_of('replay_again', 1)} next match, {self.key_map.key_of('replay_again', 0)} previous"
        self.say(f"{start}{keys}")


def search_text(records: Sequence[Record], text: str, place: int, *, forward: bool) -> int | None:
    """Return the index of the nearest record that contains `text`, or None.

    `forward`: True to search after the record at `place`, False to search before it. The search wraps around.
    """
    query, sign = text.casefold(), 1 if forward else -1
    for distance in range(1, len(records) + 1):
        number = (place + sign * distance) % len(records)
        record = records[number]
        # The pieces of an answer or output are found in the event that records it as a whole.
        if not isinstance(record, Envelope) or isinstance(record.payload, ModelDelta | ToolProgress):
            continue
        if query in json.dumps(record.payload.model_dump(mode="json"), ensure_ascii=False).casefold():
            return number
    return None
