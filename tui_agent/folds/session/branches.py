"""The branches of a log, and the targets of undo and redo.

The head of a log is the event after which the log continues. An undo, redo or revert moves the head, and new events
then form another branch.

Invariant: the records of all branches are applied, and every move of the head can be reverted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Literal

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.unfinished_work import PROGRAM_ENDED
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT

MoveReason = Literal["revert", "undo", "branch", "hunk", "files"]
Reason = MoveReason | Literal["redo"]


@dataclass(frozen=True, slots=True)
class HeadMove:
    """A move of the log's head (the event after which the log continues), recorded by the event `seq`.

    `from_seq`, `to_seq`: the head before and after the move.
    """

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

    - `undo_to`: event before the newest turn.
    - `redo_to`: position of the head before the newest undo.
    """

    moves: tuple[HeadMove, ...] = ()
    undo_to: int | None = None
    redo_to: int | None = None
    turns: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Maps the number of a turn to (its prompt, the event before it), on all branches."""

    def find_turn_start(self, turn: int) -> int | None:
        """Return the event before the turn with this number. None if the current branch has no such turn."""
        seq, parent = self.turns.get(turn, (-1, -1))
        # Any event after the prompt and the newest move has the same branch before it.
        last = max(seq, self.moves[-1].seq if self.moves else -1)
        return parent if is_on_branch(seq, stretches(self.moves, last)) else None

    @property
    def undone_move(self) -> HeadMove | None:
        """The move that a redo would reverse."""
        for move in reversed(self.moves):
            if move.reason != "redo" and move.from_seq == self.redo_to:
                return move
        return None

    @property
    def redo_reason(self) -> MoveReason | None:
        """The kind of move, e.g. `undo`, that a redo would reverse. None if there is nothing to redo."""
        move = self.undone_move
        return None if move is None or move.reason == "redo" else move.reason


def stretches(moves: Iterable[HeadMove], last: int) -> tuple[Stretch, ...]:
    """Return the event ranges of the branch that ends at the event `last`, in order."""
    # Read backwards: a move after `end` was made on a branch that the session has left.
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

    - `prompts`: (event, event before it) of each prompt, and of each continuation without a message, on all branches.
      A turn that continues after a crash keeps its first prompt.
    - `has_crashed`: True if the newest turn ended with a crash of the program.
    - `undone`: the head before each undo that a redo can reverse, newest last.
    - `turns`: maps the number of a turn to its entry in `prompts`. A number is never used again after an undo.
    """

    moves: list[HeadMove] = field(default_factory=list)
    prompts: list[tuple[int, int]] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)
    turns: dict[int, tuple[int, int]] = field(default_factory=dict)
    has_crashed: bool = False


class Branches:
    """Tracks the moves of the head, and the prompts that can be undone."""

    def __init__(self, state: BranchesState | None = None) -> None:
        self.state = state or BranchesState()
        self._view: BranchesView | None = None

    def apply(self, ev: Envelope) -> bool:
        payload = ev.payload
        match payload:
            case SessionHeadMoved():
                self._apply_move(ev, payload)
            case UserMessageReceived() | TurnStarted() if ev.agent == MAIN_AGENT and ev.parent is not None:
                self._apply_turn(ev.seq, ev.parent, payload)
            case TurnFinished(detail=detail):
                self.state.has_crashed = detail == PROGRAM_ENDED
                return False
            case _:
                return False
        self._view = None
        return True

    def _apply_turn(self, seq: int, parent: int, payload: UserMessageReceived | TurnStarted) -> None:
        is_rest = self.state.has_crashed and bool(self.state.prompts)
        self.state.has_crashed = False
        if isinstance(payload, UserMessageReceived) or (payload.is_continuation and not is_rest):
            self.state.prompts.append((seq, parent))
            self.state.undone.clear()  # after a new message, a redo would discard it
        if isinstance(payload, TurnStarted) and self.state.prompts:
            self.state.turns[payload.turn] = self.state.prompts[-1]

    def _apply_move(self, ev: Envelope, payload: SessionHeadMoved) -> None:
        move = HeadMove(ev.seq, ev.time, payload.to_seq, payload.from_seq, payload.reason, payload.files)
        self.state.moves.append(move)
        self.state.has_crashed = False
        if payload.reason == "redo":
            del self.state.undone[-1:]
        else:
            self.state.undone.append(payload.from_seq)

    def view(self) -> BranchesView:
        if self._view is None:
            redo_to = self.state.undone[-1] if self.state.undone else None
            self._view = BranchesView(
                tuple(self.state.moves), self._undo_target(), redo_to, dict(self.state.turns)
            )
        return self._view

    def count_restored_turns(self, to_seq: int, last: int) -> int:
        """Return how many turns a move from event `last` to event `to_seq` brings back."""
        now, then = stretches(self.state.moves, last), stretches(self.state.moves, to_seq)
        return sum(is_on_branch(seq, then) and not is_on_branch(seq, now) for seq, _ in self.state.prompts)

    def kept_spans(self, to_seq: int, last: int, has_event: Callable[[int], bool]) -> list[tuple[int, int]]:
        """Return ranges of undone events whose file changes were kept.

        Each range is (the event before the range, the last event of the range).

        - `to_seq`: target event of an undo. Ranges before it are left out.
        - `last`: the newest event.
        - `has_event`: function that returns True if the log contains an event.
        """
        current, target = stretches(self.state.moves, last), stretches(self.state.moves, to_seq)
        moves = {move.seq: move for move in self.state.moves if not move.files}
        spans = []
        for stretch in current:
            move = moves.get(stretch.first)
            if move is None or is_on_branch(move.seq, target):
                continue
            start = self._kept_span_start(move) if has_event(move.from_seq) else move.to_seq
            if start is not None:
                prompts = (parent for seq, parent in self.state.prompts if seq in stretch)
                spans.append((start, next(prompts, stretch.last)))
        return spans

    def _kept_span_start(self, move: HeadMove) -> int | None:
        """Return the start of the range of events that the move undid. None if no turn was undone.

        The start is the event before the first undone turn, or the move's target if the move led to another branch.
        """
        moves, prompts = self.state.moves, self.state.prompts
        left, reached = stretches(moves, move.from_seq), stretches(moves, move.to_seq)
        if not is_on_branch(move.to_seq, left):
            return move.to_seq
        return next(
            (parent for seq, parent in prompts if is_on_branch(seq, left) and not is_on_branch(seq, reached)),
            None,
        )

    def _undo_target(self) -> int | None:
        branch = self._current_branch()
        return next(
            (parent for seq, parent in reversed(self.state.prompts) if is_on_branch(seq, branch)), None
        )

    def _current_branch(self) -> tuple[Stretch, ...]:
        moves, prompts = self.state.moves, self.state.prompts
        return stretches(moves, max(prompts[-1][0] if prompts else -1, moves[-1].seq if moves else -1))
