"""The transcript: the entries that the chat shows, in order.

Invariant: an entry keeps its `id` and position forever.
"""

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.transcript.context import CONTEXT_HANDLERS
from tui_agent.folds.transcript.entries import TranscriptView
from tui_agent.folds.transcript.messages import MESSAGE_HANDLERS
from tui_agent.folds.transcript.notices import NOTICE_HANDLERS, count_unknown
from tui_agent.folds.transcript.packed_list import UNPACKED_ITEMS
from tui_agent.folds.transcript.state import Draft
from tui_agent.folds.transcript.tools import TOOL_HANDLERS
from tui_agent.protocol.envelope import Envelope, UnknownEvent
from tui_agent.protocol.events.model import ModelDelta

_ALL_HANDLERS = Handlers.join(MESSAGE_HANDLERS, TOOL_HANDLERS, NOTICE_HANDLERS, CONTEXT_HANDLERS)


class Transcript:
    """Builds the entries that the chat shows from events.

    The newest `keep` entries are never compressed. Reading older entries is slower.
    """

    def __init__(self, keep: int = UNPACKED_ITEMS) -> None:
        self._draft = Draft(keep)

    def apply(self, ev: Envelope) -> bool:
        """Apply one event. Return True if an entry changed."""
        draft = self._draft
        revision_before = draft.revision
        _ALL_HANDLERS.apply(draft, ev)
        if not isinstance(ev.payload, ModelDelta):  # a log may be read without the deltas
            draft.last_event_time = ev.time
        return draft.revision != revision_before

    def count_unknown(self, record: UnknownEvent) -> None:
        """Count an event of an unknown kind, for a notice in the chat."""
        count_unknown(self._draft, record)

    def drain(self) -> list[int]:
        """Return the indexes of the entries that are new or changed since the last call, in order."""
        changed = sorted(self._draft.changed)
        self._draft.changed.clear()
        return changed

    def view(self) -> TranscriptView:
        """Return the entries. The view is valid until the next `apply`."""
        return TranscriptView(self._draft.entries, self._draft.revision)
