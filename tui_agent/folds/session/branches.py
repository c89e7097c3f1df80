"""The branches of a log: the moves of its head, its parts on the current branch, and the targets of undo and redo.

Invariant: every record of the log is applied, including records of other branches. Nothing is deleted, so every move of
the head can be reverted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Literal

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.base import MAIN_AGENT
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived

MoveReason = Literal["revert", "undo", "branch", "hunk", "files"]
Reason = MoveReason | Literal["redo"]


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
    """A stretch of a log: the records from `first` to `last`, both included."""

    first: int
    last: int

    def __contains__(self, seq: object) -> bool:
        return isinstance(seq, int) and self.first <= seq <= self.last


@dataclass(frozen=True, slots=True)
class BranchesView:
    """The moves of a log's head in order, and the targets of undo and redo.

    `undo_to` is the event before the newest turn. `redo_to` is the position of the head before the newest undo.
    """

    moves: tuple[HeadMove, ...] = ()
    undo_to: int | None = None
    redo_to: int | None = None

    @property
    def redo_reason(self) -> MoveReason | None:
        """The reason of the move that a redo would reverse."""
        for move in reversed(self.moves):
            if move.reason != "redo" and move.from_seq == self.redo_to:
                return move.reason
        return None


def stretches(moves: Iterable[HeadMove], last: int) -> tuple[Stretch, ...]:
    """Return the stretches of the log on the branch that ends at `last`, in order.

    Takes time linear in the number of moves. Moves that are not on that branch are ignored.
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
    """Return True if the record with this seq is in one of the branch's stretches."""
    return any(seq in stretch for stretch in branch)


def last_shared(one: Sequence[Stretch], other: Sequence[Stretch]) -> int:
    """Return the last event that two branches share; -1 if they share none."""
    return max(
        (min(a.last, b.last) for a, b in zip(one, other, strict=False) if a.first == b.first), default=-1
    )


@dataclass(slots=True)
class BranchesState:
    """The complete state of `Branches`, for a snapshot.

    `prompts` has the (seq, parent) of each prompt on all branches. A prompt is a user message, or a turn that continued
    without a message.
    """

    moves: list[HeadMove] = field(default_factory=list)
    prompts: list[tuple[int, int]] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)


class Branches:
    """Tracks the moves of the head, and the prompts that can be undone. With `state`, it continues from that state."""

    def __init__(self, state: BranchesState | None = None) -> None:
        self.state = state or BranchesState()
        self._view: BranchesView | None = None

    def apply(self, ev: Envelope) -> bool:
        payload = ev.payload
        match payload:
            case SessionHeadMoved():
                self._apply_move(ev, payload)
            case UserMessageReceived() | TurnStarted(is_continuation=True) if (
                ev.agent == MAIN_AGENT and ev.parent is not None
            ):
                self.state.prompts.append((ev.seq, ev.parent))
                self.state.undone.clear()
            case _:
                return False
        self._view = None
        return True

    def _apply_move(self, ev: Envelope, payload: SessionHeadMoved) -> None:
        move = HeadMove(ev.seq, ev.time, payload.to_seq, payload.from_seq, payload.reason, payload.files)
        self.state.moves.append(move)
        if payload.reason == "redo":
            del self.state.undone[-1:]
        else:
            self.state.undone.append(payload.from_seq)

    def view(self) -> BranchesView:
        if self._view is None:
            redo_to = self.state.undone[-1] if self.state.undone else None
            self._view = BranchesView(tuple(self.state.moves), self._undo_target(), redo_to)
        return self._view

    def count_turns_back(self, to_seq: int, last: int) -> int:
        """Return the number of turns that are on the branch up to `to_seq`, but not on the branch up to `last`."""
        now, then = stretches(self.state.moves, last), stretches(self.state.moves, to_seq)
        return sum(is_on_branch(seq, then) and not is_on_branch(seq, now) for seq, _ in self.state.prompts)

    def kept_spans(self, to_seq: int, last: int, has_event: Callable[[int], bool]) -> list[tuple[int, int]]:
        """Return the spans of events whose file changes the user kept: the event before and the last event of each.

        When only the conversation moves, the changes of the turns that it leaves stay in the files. The result has the
        moves that are on the branch up to `last` but not on the branch up to `to_seq`. A fork lacks the turns that were
        left, so its spans begin at the target of the move; `has_event` returns True for the events of the log.
        """
        current, target = stretches(self.state.moves, last), stretches(self.state.moves, to_seq)
        moves = {move.seq: move for move in self.state.moves if not move.files}
        spans = []
        for stretch in current:
            move = moves.get(stretch.first)
            if move is None or is_on_branch(move.seq, target):
                continue
            start = self._kept_after(move) if has_event(move.from_seq) else move.to_seq
            if start is not None:
                prompts = (parent for seq, parent in self.state.prompts if seq in stretch)
                spans.append((start, next(prompts, stretch.last)))
        return spans

    def _kept_after(self, move: HeadMove) -> int | None:
        """Return the event before the first turn that a move left; None if the move stayed within a turn."""
        moves, prompts = self.state.moves, self.state.prompts
        left, reached = stretches(moves, move.from_seq), stretches(moves, move.to_seq)
        if not is_on_branch(move.to_seq, left):
            return move.to_seq
        return next(
            (parent for seq, parent in prompts if is_on_branch(seq, left) and not is_on_branch(seq, reached)),
            None,
        )

    def _undo_target(self) -> int | None:
        moves, prompts = self.state.moves, self.state.prompts
        last = max(prompts[-1][0] if prompts else -1, moves[-1].seq if moves else -1)
        branch = stretches(moves, last)
        return next((parent for seq, parent in reversed(prompts) if is_on_branch(seq, branch)), None)
