"""Snapshots of the fold states of a session, as JSON. The engine takes a snapshot between turns.

With a snapshot, the log need not be read from its start.

Invariant: a snapshot and the events after it give the same state as the whole log.
"""

from dataclasses import fields
from functools import cache
from typing import Final

from pydantic import TypeAdapter, ValidationError

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.meter import ContextMeter, MeterState
from tui_agent.folds.context.model_messages import History, ModelMessages
from tui_agent.folds.context.token_calibration import Calibration
from tui_agent.folds.context.window_limits import InferredWindow, InferredWindows
from tui_agent.folds.session.branches import Branches, BranchesState
from tui_agent.folds.session.checkpoints import Commits
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.session_state import Draft

FORMAT: Final = 56
"""Version of the snapshot format. Increase it whenever a fold (a class that computes state from events) stores or
computes different data."""
MAX_MESSAGES: Final = 20_000


@dataclass(frozen=True, slots=True)
class SnapshotOutline:
    """The states of the folds that a screen shows first, without the conversation."""

    state: Draft
    meter: MeterState
    branches: BranchesState


_OUTLINE_FIELDS: Final = {field.name for field in fields(SnapshotOutline)}


@dataclass(frozen=True, slots=True)
class Snapshot(SnapshotOutline):
    """The states of all folds of an engine. Dump the snapshot before you apply the next event."""

    messages: History
    commits: Commits
    calibration: dict[str, float]
    windows: dict[str, InferredWindow]


@cache
def _adapter() -> TypeAdapter[Snapshot]:
    return TypeAdapter(Snapshot)


@cache
def _outline_adapter() -> TypeAdapter[SnapshotOutline]:
    return TypeAdapter(SnapshotOutline)


def take_snapshot(
    state: SessionState,
    messages: ModelMessages,
    meter: ContextMeter,
    branches: Branches,
    commits: Commits,
    calibration: Calibration,
    windows: InferredWindows,
) -> Snapshot | None:
    """Return the states of the given folds, or None if no snapshot is possible now."""
    view = state.view()
    is_busy = (
        view.is_busy
        or view.jobs
        or view.open_calls
        or view.open_requests
        or view.pending_prompt
        or view.permissions
    )
    if is_busy or view.fork_changes is not None or not view.workspace or view.settings is None:
        return None
    if len(messages.history.messages) > MAX_MESSAGES:
        return None
    return Snapshot(
        state.draft,
        meter.dump_state(),
        branches.state,
        messages.history,
        commits,
        calibration.ratios,
        windows.known,
    )


def dump_snapshot(snapshot: Snapshot) -> bytes:
    """Return a snapshot as two lines of JSON: the fields of the outline, then the other fields."""
    return (
        _outline_adapter().dump_json(snapshot)
        + b"\n"
        + _adapter().dump_json(snapshot, exclude=_OUTLINE_FIELDS)
    )


def load_snapshot(data: bytes) -> Snapshot | None:
    """Return the snapshot in `data`, or None if another version wrote the data."""
    outline, _, rest = data.partition(b"\n")
    try:
        return _adapter().validate_json(outline[:-1] + b"," + rest[1:])
    except ValidationError:
        return None


def load_outline(data: bytes) -> SnapshotOutline | None:
    """Return only the outline of a dumped snapshot, or None if another version wrote the data."""
    # The messages are not parsed, because ten thousand messages can take 40 MB of memory.
    try:
        return _outline_adapter().validate_json(data.partition(b"\n")[0])
    except ValidationError:
        return None
