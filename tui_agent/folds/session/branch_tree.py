"""The branches of one log as a tree: where each leaves another, what was said on it, how it stands.

Invariant: every record begins with exactly one branch; the path of a branch holds exactly the records that
`folds.session.branches.stretches` gives for its last one. What goes on where a branch ended belongs to that branch.
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
    """One branch. `own` are the records that begin with it, `path` all that are on it, from the log's first one.

    It leaves the branch `parent` (an index) after the event `at_seq`; both are None for the first. `current`: the head
    stands on it.
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
        """Its first own record."""
        return self.own[0].first

    @property
    def last(self) -> int:
        """Its end, where it can be gone on from."""
        return self.own[-1].last

    @property
    def outcome(self) -> Outcome:
        """How it stands."""
        return self.said[-1].outcome if self.said else Outcome()


@dataclass(frozen=True, slots=True)
class TreeView:
    """The branches in the order in which they began; the first is the main one."""

    branches: tuple[Branch, ...] = ()

    @property
    def current(self) -> int | None:
        """The branch on which the head stands."""
        return next((at for at, one in enumerate(self.branches) if one.current), None)

    def children(self, index: int) -> tuple[int, ...]:
        """The branches that leave this one, in the order in which they began."""
        return tuple(at for at, one in enumerate(self.branches) if one.parent == index)

    def worth_showing(self, index: int) -> bool:
        """Whether it says anything: an undo that was taken back at once leaves a branch on which nothing is."""
        one = self.branches[index]
        return bool(
            index == 0
            or one.said
            or one.current
            or any(self.worth_showing(child) for child in self.children(index))
        )

    def drawn(self) -> tuple[int, ...]:
        """The branches worth showing in drawing order: each followed by those that leave it."""
        found: list[int] = []
        waiting = [0] if self.branches else []
        while waiting:
            at = waiting.pop()
            if self.worth_showing(at):
                found.append(at)
            waiting.extend(reversed(self.children(at)))
        return tuple(found)


@dataclass(slots=True)
class _Growing:
    """A branch while records come."""

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
    """Folds every record of a log, on the present branch or not. What was said up to `after` is left out."""

    def __init__(self, after: int = -1) -> None:
        self._after = after
        self._branches: list[_Growing] = []
        self._starts: list[int] = []
        """Where each run of records begins that a move of the head does not interrupt, and the branch of each run."""
        self._run_of: list[int] = []
        self._now = 0

    def apply(self, record: Record) -> bool:
        """Take one record in, in order. Always True."""
        payload = record.payload if isinstance(record, Envelope) else None
        if not self._branches:
            self._begin(None, None, 0, (), record)
        elif isinstance(payload, SessionHeadMoved):
            self._move(payload.to_seq, record)
        here = self._branches[self._now]
        here.own[-1] = here.own[-1][0], record.seq
        here.ended = record.at
        if isinstance(record, Envelope) and record.seq > self._after:
            _tell(here, record)
        return True

    def _move(self, to_seq: int, record: Record) -> None:
        run = max(0, bisect_right(self._starts, to_seq) - 1)
        index = self._run_of[run]
        there = self._branches[index]
        if to_seq >= there.own[-1][1]:
            there.own[-1] = there.own[-1][0], to_seq
            there.own.append((record.seq, record.seq))
            self._stand(index, record.seq)
            return
        before = tuple(Stretch(first, min(last, to_seq)) for first, last in there.own if first <= to_seq)
        self._begin(index, to_seq, there.depth + 1, (*there.above, *before), record)

    def _begin(
        self, parent: int | None, at_seq: int | None, depth: int, above: tuple[Stretch, ...], record: Record
    ) -> None:
        new = _Growing(parent, at_seq, depth, [(record.seq, record.seq)], above, record.at, record.at, [])
        self._branches.append(new)
        self._stand(len(self._branches) - 1, record.seq)

    def _stand(self, index: int, seq: int) -> None:
        self._now = index
        self._starts.append(seq)
        self._run_of.append(index)

    def view(self) -> TreeView:
        """As of the last record. Costs one pass over the branches."""
        return TreeView(tuple(self._branch(at) for at in range(len(self._branches))))

    def _branch(self, at: int) -> Branch:
        one = self._branches[at]
        own = tuple(Stretch(first, last) for first, last in one.own)
        return Branch(
            parent=one.parent,
            at_seq=one.at_seq,
            depth=one.depth,
            own=own,
            path=(*one.above, *own),
            said=(*one.said, one.deed.said()) if one.deed is not None else tuple(one.said),
            started=one.started,
            ended=one.ended,
            current=at == self._now,
        )


def _tell(here: _Growing, ev: Envelope) -> None:
    payload, deed = ev.payload, here.deed
    asked = isinstance(payload, UserMessageReceived) and ev.agent == MAIN_AGENT
    went_on = isinstance(payload, TurnStarted) and (deed is None or deed.begun)
    if asked or went_on:
        if deed is not None:
            here.said.append(deed.said())
        text = payload.text if isinstance(payload, UserMessageReceived) else ""
        here.deed = Deed(ev.seq, ev.at, text)
    if here.deed is not None:
        here.deed.apply(ev)


def tree(records: Iterable[Record], after: int = -1) -> TreeView:
    """The branches of a log. Records may lack deltas."""
    fold = Tree(after)
    for record in records:
        fold.apply(record)
    return fold.view()
