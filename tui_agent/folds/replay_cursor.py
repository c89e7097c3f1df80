"""A replay cursor: everything that a screen shows, at any event of a log, including events on abandoned branches.

Invariant: `views_at(seq)` equals a fresh fold of the branch that ended at `seq`. Once `is_ready` is True, a move folds
at most `KEYFRAME_INTERVAL` events, even in a long log. Keyframes are a cache and can be discarded.
"""

from bisect import bisect_right
from collections.abc import Sequence

from tui_agent.folds.base import current_branch
from tui_agent.folds.views import Views
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import SessionHeadMoved

KEYFRAME_INTERVAL = 500
"""Number of events from one keyframe to the next. A keyframe is a stored view from which a replay can continue."""


def views_at(records: Sequence[Record], seq: int) -> Views:
    """Return the views after event `seq`, computed from all records of a log."""
    views, past_records = Views(), [record for record in records if record.seq <= seq]
    for record in past_records:
        if isinstance(record, Envelope):
            views.branches.apply(record)
    for record in current_branch(past_records):
        views.apply_on_branch(record)
    return views


class ReplayCursor:
    """All records of one log, and the views of a screen at any event of the log. Records can be appended."""

    def __init__(self, records: Sequence[Record] = (), *, interval: int = KEYFRAME_INTERVAL) -> None:
        self.records: list[Record] = list(records)
        self.folded_count = 0
        """Number of events that all calls so far have applied. Tests measure the cost of a move with this number."""
        self._span = interval
        self._keyframes: list[tuple[int, Views]] = []
        """The keyframes in order, each as (number of records applied, views).

        The views are copied before more records are applied to them.
        """
        self._builder = Views()
        self._built = 0
        self._views = Views()
        self._position = 0
        """Number of records that `_views` contains."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def keyframed_count(self) -> int:
        """Number of records covered by keyframes."""
        return self._built

    @property
    def is_ready(self) -> bool:
        """True if keyframes cover all records, so that every move is cheap."""
        return self._built == len(self.records)

    @property
    def total_cost(self) -> float | None:
        """The cost in USD up to the newest record that keyframes cover; None if no price is known."""
        return self._builder.state.view().cost_usd

    def build_keyframes(self, count: int = KEYFRAME_INTERVAL) -> bool:
        """Apply the next `count` records to build keyframes. Return True if records remain."""
        for record in self.records[self._built : self._built + count]:
            self._built += 1
            self.folded_count += 1
            if isinstance(record, Envelope) and isinstance(record.payload, SessionHeadMoved):
                self._builder = self._apply_head_move(self._builder, record, record.payload.to_seq)
                self._add_keyframe()
                continue
            self._builder.apply(record)
            if self._built - (self._keyframes[-1][0] if self._keyframes else 0) >= self._span:
                self._add_keyframe()
        return not self.is_ready

    def _add_keyframe(self) -> None:
        self._keyframes.append((self._built, self._builder.copy()))

    def _apply_head_move(self, previous: Views, record: Envelope, to_seq: int) -> Views:
        """Return the views after a move of the head to `to_seq` by `record`.

        These are the views at `to_seq`, except that `branches` covers the whole log.
        """
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
        """Return the index of the last record up to this seq. Return -1 if there is no such record."""
        return bisect_right(self.records, seq, key=lambda record: record.seq) - 1

    def views_at(self, seq: int) -> Views:
        """Return the views after this event. They are valid until the next call.

        A move forward usually folds more records into the same object. Then `pop_changed` and the transcript's `drain`
        return the changes. If another object is returned, everything could have changed.
        """
        count = self.index_of(seq) + 1
        while self._built < count:
            self.build_keyframes(count - self._built)
        # Continue from the current position unless a keyframe is nearer or the move goes backwards.
        if self._nearest_keyframe(count)[0] <= self._position <= count:
            self._fold(self._views, self._position, count)
        else:
            self._views = self._views_after(count)
            self._views.clear_changes()
        self._position = count
        return self._views
