"""The `Projection` protocol, and the selection of a log's records that are on the current branch."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from tui_agent.protocol.envelope import Envelope, Record

ViewT = TypeVar("ViewT", covariant=True)


class Projection(Protocol[ViewT]):
    """An incremental fold of events into a view."""

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if the view changed."""
        ...

    def view(self) -> ViewT:
        """Return the state as frozen plain data; cheap to call again while nothing changes."""
        ...


def current_branch(records: Sequence[Record]) -> list[Record]:
    """Return the records on the current branch, in order: those reached from the last one by `parent`.

    Linear in the number of records; a log whose head never moved is returned complete. Where a parent is
    missing (its line was damaged, or the reader left deltas out) the branch continues with the nearest record
    before it.
    """
    on_branch: list[Record] = []
    next_seq: int | None = records[-1].seq if records else None
    for record in reversed(records):
        if next_seq is None:
            break
        if record.seq <= next_seq:
            on_branch.append(record)
            next_seq = record.parent
    on_branch.reverse()
    return on_branch


def fold(projection: Projection[ViewT], records: Iterable[Record]) -> ViewT:
    """Apply every known event and return the view; unknown events are ignored."""
    for record in records:
        if isinstance(record, Envelope):
            projection.apply(record)
    return projection.view()
