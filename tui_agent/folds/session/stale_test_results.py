"""Later edits and stopped test runs, which make the results of the newest finished test run stale.

Invariant: files that a test run itself writes are not edits.
"""

from dataclasses import replace
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.unicode_text import format_count

TEST_TOOL: Final = "run_tests"
_EVENTS: Final = (TestFinished, FileChanged, ToolCalled, ToolStarted, ToolFinished)


@dataclass(frozen=True, slots=True)
class LaterChanges:
    """The edits and the stopped test runs since the newest finished test run.

    - `command`: command of the newest finished test run; empty if no run has finished.
    - `edits`: number of calls that changed files, plus the number of changes by the user.
    - `run_was_stopped`: True if a later test run was stopped.
    """

    command: str = ""
    edits: int = 0
    run_was_stopped: bool = False
    newest_editor: CallId | None = None
    """The call that made the newest edit; None for an edit by the user."""
    called_runs: tuple[CallId, ...] = ()
    """The calls that run tests and have no result."""
    started_run: CallId | None = None

    @property
    def description(self) -> str:
        """The reason why the results are stale: `before 2 edits; a later run was stopped`. Empty if they are up to
        date.
        """
        edits = f"before {format_count(self.edits, 'edit')}" if self.edits else ""
        return "; ".join(filter(None, (edits, "a later run was stopped" if self.run_was_stopped else "")))

    @property
    def short_description(self) -> str:
        """A short form of `description`: `before 2 edits`. Empty if the results are up to date."""
        earlier = "in an earlier run" if self.run_was_stopped else ""
        return f"before {format_count(self.edits, 'edit')}" if self.edits else earlier

    def add_event(self, payload: Payload) -> "LaterChanges":
        """Return the changes, including those of one more event."""
        if not isinstance(payload, _EVENTS):
            return self
        match payload:
            case TestFinished(command=command):
                return LaterChanges(command, called_runs=self.called_runs)
            case FileChanged(call_id=call_id) if self.command and call_id not in self.called_runs:
                is_same_edit = call_id is not None and call_id == self.newest_editor
                return replace(self, edits=self.edits + (not is_same_edit), newest_editor=call_id)
            case ToolCalled(call_id=call_id, name=name, target=target) if (
                name == TEST_TOOL or target == self.command != ""
            ):
                return replace(self, called_runs=(*self.called_runs, call_id))
            case ToolStarted(call_id=call_id) if call_id in self.called_runs:
                return replace(self, started_run=call_id)
            case ToolFinished(call_id=call_id, status=status) if call_id in self.called_runs:
                stopped = call_id == self.started_run and status in ("interrupted", "lost")
                runs = tuple(run for run in self.called_runs if run != call_id)
                return replace(
                    self,
                    called_runs=runs,
                    run_was_stopped=self.run_was_stopped or (stopped and bool(self.command)),
                )
            case _:
                return self


NO_LATER_CHANGES: Final = LaterChanges()
