"""Everything that a screen shows, as it was at any event of a log, on a branch that was left too.

Invariant: `at(seq)` equals a fresh fold of the branch that ended at `seq`. Once `ready`, it folds at most `SPAN` events
from a keyframe, however long the log is. Keyframes are a cache: they can be thrown away.
"""

from bisect import bisect_right
from collections.abc import Sequence

from tui_agent.folds.base import branch
from tui_agent.folds.views import Views
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import SessionHeadMoved

SPAN = 500
"""Events from one keyframe to the next."""


def moment(records: Sequence[Record], seq: int) -> Views:
    """Everything as it was after the event `seq`, folded anew from all records of a log."""
    views, until = Views(), [record for record in records if record.seq <= seq]
    for record in until:
        if isinstance(record, Envelope):
            views.branches.apply(record)
    for record in branch(until):
        views.take(record)
    return views


class Moments:
    """All records of one log, and a cursor that folds them to any of them. Records may be added at the end."""

    def __init__(self, records: Sequence[Record] = (), *, span: int = SPAN) -> None:
        self.records: list[Record] = list(records)
        self.folded = 0
        """Events folded so far, by all that was asked of it: what the cost of a move is counted in."""
        self._span = span
        self._keyframes: list[tuple[int, Views]] = []
        """(records folded, views), in order; never folded on themselves."""
        self._builder = Views()
        self._built = 0
        self._views = Views()
        self._position = 0
        """How many records `_views` holds."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def built(self) -> int:
        """How many records have their keyframes."""
        return self._built

    @property
    def ready(self) -> bool:
        """Whether every move is cheap."""
        return self._built == len(self.records)

    @property
    def total_cost(self) -> float | None:
        """What was spent by the newest record that has its keyframes."""
        return self._builder.metrics.view().cost_usd

    def prepare(self, count: int = SPAN) -> bool:
        """Fold so many records more for the keyframes; True while there are more."""
        for record in self.records[self._built : self._built + count]:
            self._built += 1
            self.folded += 1
            if isinstance(record, Envelope) and isinstance(record.payload, SessionHeadMoved):
                self._builder = self._moved(self._builder, record, record.payload.to_seq)
                self._keep()
                continue
            self._builder.apply(record)
            if self._built - (self._keyframes[-1][0] if self._keyframes else 0) >= self._span:
                self._keep()
        return not self.ready

    def _keep(self) -> None:
        self._keyframes.append((self._built, self._builder.copy()))

    def _moved(self, before: Views, record: Envelope, to_seq: int) -> Views:
        """The head went to another event: what was there, and this record; the branches are those of the whole log."""
        views = self._copy_of(self.index_of(to_seq) + 1)
        views.branches = before.branches
        views.apply(record)
        views.moved = False
        return views

    def _copy_of(self, count: int) -> Views:
        """New views of the first records."""
        start, views = self._nearest(count)
        self._fold(views, start, count)
        return views

    def _nearest(self, count: int) -> tuple[int, Views]:
        found = bisect_right(self._keyframes, count, key=lambda one: one[0]) - 1
        if found < 0:
            return 0, Views()
        position, views = self._keyframes[found]
        return position, views.copy()

    def _fold(self, views: Views, start: int, end: int) -> None:
        for record in self.records[start:end]:
            views.apply(record)
        self.folded += max(0, end - start)

    def index_of(self, seq: int) -> int:
        """Where the record of this seq stands, or the one before it; -1 before the first."""
        return bisect_right(self.records, seq, key=lambda record: record.seq) - 1

    def at(self, seq: int) -> Views:
        """Everything as it was after this event. Valid until the next call; a move forward folds on the same views.

        What changed since the call before is in the views (`take_changed`, the transcript's `drain`) where they are
        the same; else everything may have.
        """
        count = self.index_of(seq) + 1
        while self._built < count:
            self.prepare(count - self._built)
        found = bisect_right(self._keyframes, count, key=lambda one: one[0]) - 1
        keyframe = self._keyframes[found][0] if found >= 0 else 0
        if keyframe <= self._position <= count:
            self._fold(self._views, self._position, count)
        else:
            self._views = self._copy_of(count)
            self._views.forget_changes()
        self._position = count
        return self._views
