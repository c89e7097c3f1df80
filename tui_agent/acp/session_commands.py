"""The slash commands `/compact`, `/undo` and `/redo` for an editor.

Invariant: these commands start no turn.
"""

from tui_agent.protocol.envelope import Envelope
from tui_agent.session.command_effects import describe_effect
from tui_agent.session.pending_commands import SettledCommand


class ReportedCommand(SettledCommand):
    """A command that was sent to the session. `report`: sentences about the command's effect."""

    report = ""

    def take(self, event: Envelope) -> None:
        """Process the session's next event."""
        if not self.done.is_set():
            self.report = f"{self.report} {describe_effect(event)}".strip()
        super().take(event)
