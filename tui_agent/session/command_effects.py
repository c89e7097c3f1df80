"""Sentences about the effects of `/compact`, `/undo` and `/redo`, for clients other than the app."""

from collections.abc import Mapping
from typing import Final

from tui_agent.folds.text.undo_sentences import (
    describe_remains,
    describe_restored,
)
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextCompacted, ContextStuck
from tui_agent.protocol.events.files import CheckpointRestored
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_estimate

_MOVES: Final[Mapping[str, str]] = {
    "undo": "Undid the last turn. /redo brings it back.",
    "redo": "Redid the undone turn.",
    "revert": "Undid these turns. /redo brings them back.",
}


def describe_effect(event: Envelope) -> str:
    """Describe an event that `/compact`, `/undo` or `/redo` caused. Return an empty string if there is nothing to say."""
    match event.payload:
        case SessionHeadMoved(reason=reason) as move:
            return " ".join(filter(None, (_MOVES.get(reason, ""), *describe_remains(move))))
        case CheckpointRestored(kept_count=kept_count) as restored:
            changed = (
                f" Kept {format_count(kept_count, 'file that was', 'files that were')} changed since then."
                if kept_count
                else ""
            )
            return f"{describe_restored(restored)}{changed}"
        case ContextCompacted(turns=turns, before_tokens=before, after_tokens=after):
            sizes = f"{format_estimate(before)} to {format_estimate(after)} tokens"
            return f"Summarised {format_count(turns, 'turn')}: {sizes}."
        case ContextStuck(message=message):
            return message
        case _:
            return ""
