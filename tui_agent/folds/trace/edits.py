"""Edits of files by agents: with their tools, or with commands that are not tests.

Invariant: a command's changes count once the command has ended, because only then it is known whether it was
a test run, which writes files of its own.
"""

from dataclasses import dataclass

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.ids import CallId


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a file by an agent or delegate; `at` is in seconds since 1970."""

    path: str
    at: float
    call_id: CallId | None


class Edits:
    """A fold that reports edits as soon as they are certain."""

    def __init__(self) -> None:
        self._command_edits: dict[CallId, list[Edit]] = {}

    def apply(self, ev: Envelope) -> list[Edit]:
        """Fold one event; return the edits that it makes certain, in order."""
        match ev.payload:
            case FileChanged(author="agent") as change:
                return [Edit(change.path, ev.at, change.call_id)]
            case FileChanged(author="command", call_id=str() as call) as change:
                self._command_edits.setdefault(call, []).append(Edit(change.path, ev.at, call))
            case TestFinished(call_id=str() as call):
                self._command_edits.pop(call, None)
            case ToolFinished(call_id=call):
                return self._command_edits.pop(call, [])
            case _:
                pass
        return []
