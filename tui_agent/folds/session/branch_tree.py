"""The branches of a log as a tree: where each starts, its messages and its outcome.

Invariant: every record starts on exactly one branch; the path of a branch holds exactly the records that
`folds.session.branches.stretches` gives for its last one. Work that continues at the end of a branch belongs
to that branch.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from tui_agent.folds.session.branches import Stretch
from tui_agent.folds.session.turn_outcome import Deed, Outcome, Said
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch. `own` are the records that only it and its children have, `path` all records on it from the
    log's first.

    It leaves the branch `parent` (an index) after the event `at_seq`; both are None for the first branch.
    `current` is True for the branch that the session is on.
    """

    parent: int | None
    at_seq: int | None
    depth: int
    own: tuple[Stretch, ...]
    path: tuple[Stretch, ...]
    said: tuple[Said, ...]
    started: float
    ended: float
    current: bool

    @property
    def first(self) -> int:
        """The seq of its first own record."""
        return self.own[0].first

    @property
    def last(self) -> int:
        """The seq of its last record, from which it can be continued."""
        return self.own[-1].last

    @property
    def outcome(self) -> Outcome:
        """The outcome of its newest turn."""
        return self.said[-1].outcome if self.said else Outcome()


@dataclass(frozen=True, slots=True)
class TreeView:
    """The branches in the order in which they started; the first is the main one."""

    branches: tuple[Branch, ...] = ()

    @property
    def current(self) -> int | None:
        """The index of the current branch."""
        return next((index for index, branch in enumerate(self.branches) if branch.current), None)

    def children(self, index: int) -> tuple[int, ...]:
        """Return the indices of the branches that leave this one, in the order in which they started."""
        return tuple(child for child, branch in enumerate(self.branches) if branch.parent == index)

    def worth_showing(self, index: int) -> bool:
        """Return True unless the branch is empty, as after an undo that was redone at once."""
        branch = self.branches[index]
        return bool(
            index == 0
            or branch.said
            or branch.current
            or any(self.worth_showing(child) for child in self.children(index))
        )

    def drawn(self) -> tuple[int, ...]:
        """Return the branches worth showing in drawing order: each followed by its children."""
        shown: list[int] = []
        waiting = [0] if self.branches else []
        while waiting:
            index = waiting.pop()
            if self.worth_showing(index):
                shown.append(index)
            waiting.extend(reversed(self.children(index)))
        return tuple(shown)


@dataclass(slots=True)
class _OpenBranch:
    """A branch while records are added to it."""

    parent: int | None
    at_seq: int | None
    depth: int
    own: list[tuple[int, int]]
    above: tuple[Stretch, ...]
    started: float
    ended: float
    said: list[Said]
    deed: Deed | None = None


class Tree:
    """A fold of every record of a log, on the current branch or not. Messages up to `after` are left out."""

    def __init__(self, after: int = -1) -> None:
        self._after = after
        self._branches: list[_OpenBranch] = []
        self._starts: list[int] = []
        """The first seq of each run of records between head moves."""
        self._run_branches: list[int] = []
        """The branch of each run."""
        self._current = 0

    def apply(self, record: Record) -> bool:
        """Fold one record, in order; always returns True."""
        payload = record.payload if isinstance(record, Envelope) else None
        if not self._branches:
            self._start_branch(None, None, 0, (), record)
        elif isinstance(payload, SessionHeadMoved):
            self._move_head(payload.to_seq, record)
        branch = self._branches[self._current]
        branch.own[-1] = branch.own[-1][0], record.seq
        branch.ended = record.at
        if isinstance(record, Envelope) and record.seq > self._after:
            _apply_to_branch(branch, record)
        return True

    def _move_head(self, to_seq: int, record: Record) -> None:
        run = max(0, bisect_right(self._starts, to_seq) - 1)
        index = self._run_branches[run]
        branch = self._branches[index]
        # A move to the end of a branch continues it; a move to an earlier event starts a new one.
        if to_seq >= branch.own[-1][1]:
            branch.own[-1] = branch.own[-1][0], to_seq
            branch.own.append((record.seq, record.seq))
            self._switch_to(index, record.seq)
            return
        shared = tuple(Stretch(first, min(last, to_seq)) for first, last in branch.own if first <= to_seq)
        self._start_branch(index, to_seq, branch.depth + 1, (*branch.above, *shared), record)

    def _start_branch(
        self, parent: int | None, at_seq: int | None, depth: int, above: tuple[Stretch, ...], record: Record
    ) -> None:
        branch = _OpenBranch(
            parent, at_seq, depth, [(record.seq, record.seq)], above, record.at, record.at, []
        )
        self._branches.append(branch)
        self._switch_to(len(self._branches) - 1, record.seq)

    def _switch_to(self, index: int, seq: int) -> None:
        self._current = index
        self._starts.append(seq)
        self._run_branches.append(index)

    def view(self) -> TreeView:
        """Return the tree as of the last record. Costs one pass over the branches."""
        return TreeView(tuple(self._freeze_branch(index) for index in range(len(self._branches))))

    def _freeze_branch(self, index: int) -> Branch:
        branch = self._branches[index]
        own = tuple(Stretch(first, last) for first, last in branch.own)
        return Branch(
            parent=branch.parent,
            at_seq=branch.at_seq,
            depth=branch.depth,
            own=own,
            path=(*branch.above, *own),
            said=(*branch.said, branch.deed.said()) if branch.deed is not None else tuple(branch.said),
            started=branch.started,
            ended=branch.ended,
            current=index == self._current,
        )


def _apply_to_branch(branch: _OpenBranch, ev: Envelope) -> None:
    payload, deed = ev.payload, branch.deed
    is_prompt = isinstance(payload, UserMessageReceived) and ev.agent == MAIN_AGENT
    is_continuation = isinstance(payload, TurnStarted) and (deed is None or deed.begun)
    if is_prompt or is_continuation:
        if deed is not None:
            branch.said.append(deed.said())
        text = payload.text if isinstance(payload, UserMessageReceived) else ""
        branch.deed = Deed(ev.seq, ev.at, text)
    if branch.deed is not None:
        branch.deed.apply(ev)


def tree(records: Iterable[Record], after: int = -1) -> TreeView:
    """Return the branches of a log. The records may lack deltas."""
    fold = Tree(after)
    for record in records:
        fold.apply(record)
    return fold.view()
