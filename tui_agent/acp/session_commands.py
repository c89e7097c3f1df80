"""Slash commands about the session itself that work in an editor: `/compact`, `/undo`, `/redo`.

Invariant: these commands start no turn. Each command reports its effect to the editor in a sentence.
"""

from collections.abc import Mapping
from typing import Final

from tui_agent.folds.session.generated_files import describe_restored
from tui_agent.folds.text.kept_commits import describe_kept_commits
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.command import OfferedCommand
from tui_agent.protocol.events.context import ContextCompacted, ContextStuck
from tui_agent.protocol.events.files import CheckpointRestored
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.unicode_text import format_count
from tui_agent.session.pending_commands import SettledCommand
from tui_agent.units import format_estimate

SESSION_COMMANDS: Final = (
    OfferedCommand(name="compact", help="summarise old turns", arguments="[FOCUS]"),
    OfferedCommand(name="undo", help="undo the last turn and its file changes"),
    OfferedCommand(name="redo", help="redo what you last undid"),
)
_MOVES: Final[Mapping[str, str]] = {
    "undo": "Undid the last turn. /redo brings it back.",
    "redo": "Redid the undone turn.",
}


class ReportedCommand(SettledCommand):
    """A command that was sent to the session. `report` describes the command's effect in sentences."""

    report = ""

    def take(self, event: Envelope) -> None:
        """Process the session's next event."""
        if not self.done.is_set():
            self.report = f"{self.report} {_describe(event)}".strip()
        super().take(event)


def _describe(event: Envelope) -> str:
    match event.payload:
        case SessionHeadMoved(reason=reason, kept_commits=commits):
            return f"{_MOVES.get(reason, '')} {describe_kept_commits(commits)}".strip()
        case CheckpointRestored(kept_count=kept) as restored:
            changed = (
                f" Kept {format_count(kept, 'file that was', 'files that were')} changed since then."
                if kept
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
