"""The branches of a log: its head moves, the parts of it on the current branch, and the targets of undo and
redo.

Invariant: folds every record of the log, on the branch or not; nothing is ever deleted, so every move can be
reverted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT

Reason = Literal["revert", "undo", "redo", "branch"]


@dataclass(frozen=True, slots=True)
class HeadMove:
    """A move of the head from `from_seq` to `to_seq` by the event `seq`."""

    seq: int
    time: float
    to_seq: int
    from_seq: int
    reason: Reason
    files: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """The records from `first` to `last`, both included."""

    first: int
    last: int

    def __contains__(self, seq: object) -> bool:
        return isinstance(seq, int) and self.first <= seq <= self.last


@dataclass(frozen=True, slots=True)
class BranchesView:
    """`moves` in order; `undo_to` is the event before the newest turn, `redo_to` the end of what was undone last."""

    moves: tuple[HeadMove, ...] = ()
    undo_to: int | None = None
    redo_to: int | None = None


def stretches(moves: Iterable[HeadMove], last: int) -> tuple[Stretch, ...]:
    """Return the stretches of the log on the branch that ends at `last`, in order. Costs one pass over the
    moves.

    Moves off that branch are ignored.
    """
    backwards: list[Stretch] = []
    end = last
    for move in sorted(moves, key=lambda move: -move.seq):
        if move.seq > end:
            continue
        backwards.append(Stretch(move.seq, end))
        end = move.to_seq
    if end >= 0:
        backwards.append(Stretch(0, end))
    return tuple(reversed(backwards))


def is_on_branch(seq: int, branch: Sequence[Stretch]) -> bool:
    """Return True if a record is on the branch made of these stretches."""
    return any(seq in stretch for stretch in branch)


@dataclass(frozen=True, slots=True)
class BranchesState:
    """The complete state of the fold, for a snapshot."""

    moves: tuple[HeadMove, ...]
    prompts: tuple[tuple[int, int], ...]
    undone: tuple[int, ...]


class Branches:
    """A fold of `session.head_moved`, and of the prompts that can be undone."""

    def __init__(self) -> None:
        self._moves: list[HeadMove] = []
        self._prompts: list[tuple[int, int]] = []
        """(seq, parent) of each user message, and of each turn without one, on all branches."""
        self._undone: list[int] = []
        self._view: BranchesView | None = None

    def dump_state(self) -> BranchesState:
        """Return the state for `from_state`."""
        return BranchesState(tuple(self._moves), tuple(self._prompts), tuple(self._undone))

    @classmethod
    def from_state(cls, kept: BranchesState) -> "Branches":
        """Return a fold that continues from a state."""
        branches = cls()
        branches._moves, branches._prompts = list(kept.moves), list(kept.prompts)
        branches._undone = list(kept.undone)
        return branches

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if the head moved or the targets of undo and redo changed."""
        payload = ev.payload
        match payload:
            case SessionHeadMoved():
                self._apply_move(ev, payload)
            case UserMessageReceived() | TurnStarted(is_continuation=True) if (
                ev.agent == MAIN_AGENT and ev.parent is not None
            ):
                self._prompts.append((ev.seq, ev.parent))
                self._undone.clear()
            case _:
                return False
        self._view = None
        return True

    def _apply_move(self, ev: Envelope, payload: SessionHeadMoved) -> None:
        move = HeadMove(ev.seq, ev.time, payload.to_seq, payload.from_seq, payload.reason, payload.files)
        self._moves.append(move)
        if payload.reason == "redo":
            self._undone = self._undone[:-1]
        else:
            self._undone.append(payload.from_seq)

    def view(self) -> BranchesView:
        """Return the branches as of the newest event."""
        if self._view is None:
            undo_to = self._undo_target()
            redo_to = self._undone[-1] if self._undone else None
            self._view = BranchesView(tuple(self._moves), undo_to, redo_to)
        return self._view

    def _undo_target(self) -> int | None:
        """Return the event before the newest turn on the branch."""
        last = max(self._prompts[-1][0] if self._prompts else -1, self._moves[-1].seq if self._moves else -1)
        branch = stretches(self._moves, last)
        return next((parent for seq, parent in reversed(self._prompts) if is_on_branch(seq, branch)), None)
