"""The replay screen with the keys that move through the session, and the search for an event.

Invariant: a key press applies only a limited number of events, even in a very long log.
"""

import asyncio
import json
from collections.abc import Sequence

from textual import on

from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.model import ModelDelta
from tui_agent.protocol.events.tool import ToolProgress
from tui_agent.tui.keys_and_commands import Scope
from tui_agent.tui.screens.replay.replay_actions import ReplayActions
from tui_agent.tui.screens.replay.timeline_pane import LinePlace
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.lists import Intent


class ReplayScreen(ReplayActions):
    """The replay screen."""

    _query = ""
    """The text of the last search."""

    def key_scopes(self) -> Sequence[Scope]:
        return ("replay",) if self.field is None else ("field",)

    def type_key(self, key: str, character: str | None) -> bool:
        is_typed = self.field is not None and self.field.type_key(key, character)
        self.show_head()
        return is_typed

    def go_to_tenth(self, tenth: int) -> None:
        self.move(lambda head: head.move_to_tenth(tenth))

    def scroll_chat(self, rows: int) -> None:
        self.chat.viewport.scroll_to(self.chat.viewport.y + rows)
        self.chat.repaint()

    def scroll_page(self, direction: int) -> None:
        self.chat.action_page(direction)

    @on(LinePlace)
    def _on_dragged(self, event: LinePlace) -> None:
        event.stop()
        self.move_to(event.place)

    @on(Intent)
    def _on_intent(self, event: Intent) -> None:
        """Handle a click on a pane."""
        event.stop()
        name, _, index = f"{event.name} {event.argument}".partition(" ")
        if name == "span" and self.views is not None and index.isdigit():
            seq = self.views.trace.view().spans[int(index)].first_seq
            self.move_to(self.moments.index_of(seq))
        elif name == "help":
            self.open_help()
        elif name == "pane":
            self.show_pane(index)
        elif name in ("trace", "context"):
            self.toggle_panes()
        elif name in ("todo", "diff", "jobs"):
            self.show_sheet("files" if name == "diff" else name)

    # -- search ----------------------------------------------------------------------------------------------------

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
