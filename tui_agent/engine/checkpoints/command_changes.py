"""Finds files that somebody else may have changed while a command ran.

Invariant: an undo asks before it restores one of these files.
"""

from collections.abc import Callable, Iterable
from dataclasses import field

from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.log import OtherChange
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.files import LONG_COMMAND_S, FileChanged
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.unicode_text import clip_line
from tui_agent.units import format_duration

MAX_COMMAND_CHARS = 40

ReadOtherChanges = Callable[[str, float], Iterable[OtherChange]]
"""Function (workspace, time) that returns other sessions' changes after this time. Blocks.

The time is in seconds since the epoch.
"""


@dataclass(frozen=True, slots=True)
class SharedChange:
    """A file that changed while a command ran.

    `reason`: says who may have changed the file.
    `is_uncertain`: True if only the time of the change points to somebody else.
    """

    reason: str
    is_uncertain: bool


@dataclass(slots=True)
class _CommandRun:
    command: str
    started: float = 0.0
    ended: float = 0.0
    seconds: float = 0.0
    changes: list[FileChanged] = field(default_factory=list)


def find_shared_changes(
    records: Iterable[Record], workspace: str, read_others: ReadOtherChanges | None
) -> dict[str, SharedChange]:
    """Return the files that somebody else may have changed while a command ran. Blocks."""
    runs, edited = _read_runs(records)
    runs = [run for run in runs if run.changes]
    others: dict[str, list[OtherChange]] = {}
    if runs and read_others is not None:
        for other in read_others(workspace, min(run.started for run in runs)):
            others.setdefault(other.change.path, []).append(other)
    shared: dict[str, SharedChange] = {}
    for run in runs:
        for change in run.changes:
            reason = _other_session(run, change, others.get(change.path, ()))
            if reason:
                shared[change.path] = SharedChange(reason, is_uncertain=False)
            elif run.seconds > LONG_COMMAND_S and change.path not in edited:
                reason = f"changed while `{run.command}` ran ({format_duration(run.seconds)})"
                shared.setdefault(change.path, SharedChange(reason, is_uncertain=True))
    return shared


def _read_runs(records: Iterable[Record]) -> tuple[list[_CommandRun], set[str]]:
    """Return the commands with their file changes, and the files changed by edit tools."""
    runs: dict[str, _CommandRun] = {}
    edited: set[str] = set()
    for record in records:
        match record.payload:
            case ToolCalled(call_id=call_id, target=target):
                runs[call_id] = _CommandRun(clip_line(target, MAX_COMMAND_CHARS))
            case ToolStarted(call_id=call_id) if call_id in runs:
                runs[call_id].started = record.time
            case ToolFinished(call_id=call_id) as end if call_id in runs:
                runs[call_id].ended, runs[call_id].seconds = record.time, (end.duration_ms or 0.0) / 1000
            case FileChanged(author="agent", path=path):
                edited.add(path)
            case FileChanged(author="command", call_id=call_id) as change if call_id in runs:
                runs[call_id].changes.append(change)
    return list(runs.values()), edited


def _other_session(run: _CommandRun, change: FileChanged, others: Iterable[OtherChange]) -> str:
    """Return a reason if another session changed the file during the command; otherwise an empty string."""
    for other in others:
        if other.change.author == "agent" and run.started <= other.time <= run.ended:
            return f"changed by the session “{other.session}”"
        if other.change.author == "command" and _contents(other.change) == _contents(change):
            return f"changed while a command of the session “{other.session}” also ran"
    return ""


def _contents(change: FileChanged) -> tuple[str | None, str | None]:
    return change.disk_sha256_before, change.disk_sha256_after
