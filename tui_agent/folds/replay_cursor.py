"""A replay cursor, which computes a screen's views after any event of a log.

Events on abandoned branches are possible too.

Invariant: `ReplayCursor.views_at(seq)` equals the views after all events of the branch that ends at `seq`, applied from
the start.
"""

from bisect import bisect_right
from collections.abc import Sequence

from tui_agent.folds.projection import current_branch
from tui_agent.folds.screen_folds import Views
from tui_agent.protocol.envelope import Envelope, Record, known_events
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.units import CostPrecision

KEYFRAME_INTERVAL = 500
"""Number of events between two keyframes. A replay can continue from a keyframe's stored views."""


def views_at(records: Sequence[Record], seq: int) -> Views:
    """Return the views after event `seq`, computed from all records of a log."""
    views, past_records = Views(), [record for record in records if record.seq <= seq]
    for event in known_events(past_records):
        views.branches.apply(event)
    for record in current_branch(past_records):
        views.apply_on_branch(record)
    return views


class ReplayCursor:
    """All records of one log, and the views of a screen at any event of the log.

    Keyframes, which are copies of the views at some events, make it cheap to move the cursor.
    """

    def __init__(self, records: Sequence[Record] = (), *, interval: int = KEYFRAME_INTERVAL) -> None:
        self.records: list[Record] = list(records)
        self.folded_count = 0
        """Number of events applied since the cursor was created."""
        self._span = interval
        self._keyframes: list[tuple[int, Views]] = []
        """The keyframes in order, each as (number of records applied, views)."""
        self._builder = Views()
        self.keyframed_count = 0
        """Number of records, counted from the start of the log, that keyframes cover."""
        self._views = Views()
        self._position = 0
        """Number of records that have been applied to `_views`."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def is_ready(self) -> bool:
        """True if keyframes cover all records. Moving the cursor to any event is then cheap."""
        return self.keyframed_count == len(self.records)

    @property
    def total_cost(self) -> tuple[float | None, CostPrecision]:
        """The cost in USD up to the newest keyframe, and the precision of the cost. The cost is None if no price is
        known."""
        state = self._builder.state.view()
        return state.cost_usd, state.cost_precision

    def build_keyframes(self, count: int = KEYFRAME_INTERVAL) -> bool:
        """Apply the next `count` records to build keyframes, and return True if records remain."""
        for record in self.records[self.keyframed_count : self.keyframed_count + count]:
            self.keyframed_count += 1
            self.folded_count += 1
            if isinstance(record.payload, SessionHeadMoved):
                self._builder = self._apply_head_move(self._builder, record, record.payload.to_seq)
                self._add_keyframe()
                continue
            self._builder.apply(record)
            if self.keyframed_count - (self._keyframes[-1][0] if self._keyframes else 0) >= self._span:
                self._add_keyframe()
        return not self.is_ready

    def _add_keyframe(self) -> None:
        self._keyframes.append((self.keyframed_count, self._builder.copy()))

    def _apply_head_move(self, previous: Views, record: Envelope, to_seq: int) -> Views:
        """Return the views after the event `record`, which moved the head to `to_seq`."""
        views = self._views_after(self.index_of(to_seq) + 1)
        views.branches = previous.branches
        views.apply(record)
        views.head_moved = False
        return views

    def _views_after(self, count: int) -> Views:
        position, keyframe = self._nearest_keyframe(count)
        views = Views() if keyframe is None else keyframe.copy()
        self._fold(views, position, count)
        return views

    def _nearest_keyframe(self, count: int) -> tuple[int, Views | None]:
        index = bisect_right(self._keyframes, count, key=lambda keyframe: keyframe[0]) - 1
        return self._keyframes[index] if index >= 0 else (0, None)

    def _fold(self, views: Views, start: int, end: int) -> None:
        for record in self.records[start:end]:
            views.apply(record)
        self.folded_count += max(0, end - start)

    def index_of(self, seq: int) -> int:
        """Return the index of the last record whose seq is not larger than `seq`, or -1."""
        return bisect_right(self.records, seq, key=lambda record: record.seq) - 1

    def views_at(self, seq: int) -> Views:
        """Return the views after the event `seq`. The returned object is valid only until the next call.

        If two calls return the same object, call the object's `pop_changed` to get the changes between the two calls.
        """
        count = self.index_of(seq) + 1
        while self.keyframed_count < count:
            self.build_keyframes(count - self.keyframed_count)
        # Continue from the current position unless a keyframe is nearer or the move goes backwards.
        if self._nearest_keyframe(count)[0] <= self._position <= count:
            self._fold(self._views, self._position, count)
        else:
            self._views = self._views_after(count)
            self._views.clear_changes()
        self._position = count
        return self._views
