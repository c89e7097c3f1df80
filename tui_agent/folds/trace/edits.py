"""When the agents edit files: with their tools, or with commands that are no tests.

Invariant: what a command changed counts once the command has ended, for only then is it known whether it was a test run,
which leaves files of its own.
"""

from dataclasses import dataclass

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.ids import CallId


@dataclass(frozen=True, slots=True)
class Edit:
    """A file that an agent, a delegate too, has changed, and when (seconds since 1970)."""

    path: str
    at: float
    call_id: CallId | None


class Edits:
    """Tells edits as they become known."""

    def __init__(self) -> None:
        self._of_commands: dict[CallId, list[Edit]] = {}

    def apply(self, ev: Envelope) -> list[Edit]:
        """The edits that an event makes known, in order."""
        match ev.payload:
            case FileChanged(author="agent") as change:
                return [Edit(change.path, ev.at, change.call_id)]
            case FileChanged(author="command", call_id=str() as call) as change:
                self._of_commands.setdefault(call, []).append(Edit(change.path, ev.at, call))
            case TestFinished(call_id=str() as call):
                self._of_commands.pop(call, None)
            case ToolFinished(call_id=call):
                return self._of_commands.pop(call, [])
            case _:
                pass
        return []
