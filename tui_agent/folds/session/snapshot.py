"""What an engine knows of a session between two turns, as JSON: a fold that need not be made again.

Invariant: derived; whoever cannot read it folds the log instead. Taken up and folded on, it equals the whole fold.
"""

from dataclasses import dataclass, fields
from functools import cache
from typing import Final

from pydantic import TypeAdapter, ValidationError

from tui_agent.folds.context.meter import ContextMeter, MeterState
from tui_agent.folds.context.model_messages import MessagesState, ModelMessages
from tui_agent.folds.context.token_calibration import Calibration
from tui_agent.folds.context.window_limits import LearntWindow, LearntWindows
from tui_agent.folds.session.branches import Branches, BranchesState
from tui_agent.folds.session.commits import Commits, CommitsState
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.state import FoldState

FORMAT: Final = 30
"""Counts up whenever a fold in it holds, or makes, something else of the same events."""
MOST_MESSAGES: Final = 20_000


@dataclass(frozen=True, slots=True)
class Outline:
    """What a screen begins with: the folds that do not grow with what was said."""

    state: FoldState
    meter: MeterState
    branches: BranchesState


_OUTLINE: Final = {one.name for one in fields(Outline)}


@dataclass(frozen=True, slots=True)
class Standing(Outline):
    """The states of the folds. To be dumped, or taken up, before anything is folded on."""

    messages: MessagesState
    commits: CommitsState
    calibration: dict[str, float]
    windows: dict[str, LearntWindow]


@cache
def _adapter() -> TypeAdapter[Standing]:
    return TypeAdapter(Standing)


@cache
def _outlines() -> TypeAdapter[Outline]:
    return TypeAdapter(Outline)


def standing(
    state: SessionState,
    messages: ModelMessages,
    meter: ContextMeter,
    branches: Branches,
    commits: Commits,
    calibration: Calibration,
    windows: LearntWindows,
) -> Standing | None:
    """What the folds hold; None in the middle of something, of a log without a beginning, and where it is too much."""
    now = state.view()
    open_now = (
        now.busy or now.jobs or now.open_calls or now.open_requests or now.pending_prompt or now.permissions
    )
    if open_now or now.forked is not None or not now.workspace or now.settings is None:
        return None
    kept = messages.kept()
    if len(kept.messages) > MOST_MESSAGES:
        return None
    return Standing(
        state.kept(),
        meter.kept(),
        branches.kept(),
        kept,
        commits.kept(),
        calibration.kept(),
        windows.kept(),
    )


def dumped(found: Standing) -> bytes:
    """As two lines of JSON: the outline, and the rest."""
    return _outlines().dump_json(found) + b"\n" + _adapter().dump_json(found, exclude=_OUTLINE)


def loaded(data: bytes) -> Standing | None:
    """From what was dumped; None where it is not what this version wrote."""
    outline, _, rest = data.partition(b"\n")
    try:
        return _adapter().validate_json(outline[:-1] + b"," + rest[1:])
    except ValidationError:
        return None


def outlined(data: bytes) -> Outline | None:
    """What a screen begins with: the messages, which are most of what was dumped, are not read (40 MB for ten thousand)."""
    try:
        return _outlines().validate_json(data.partition(b"\n")[0])
    except ValidationError:
        return None
