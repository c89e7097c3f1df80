"""What a projection is, and which of a log's records are on its branch."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from tui_agent.protocol.envelope import Envelope, Record

ViewT = TypeVar("ViewT", covariant=True)


class Projection(Protocol[ViewT]):
    """An incremental fold."""

    def apply(self, ev: Envelope) -> bool:
        """Take one event in; True if the view changed."""
        ...

    def view(self) -> ViewT:
        """The state as frozen plain data; cheap to ask for again while nothing changed."""
        ...


def branch(records: Sequence[Record]) -> list[Record]:
    """The records on the current branch, in order: those reached from the last one by `parent`.

    Linear in the number of records; a log without a moved head comes back whole. Where a parent is missing (its line
    was damaged, or its reader left deltas out) the branch goes on with the nearest record before it.
    """
    on_branch: list[Record] = []
    wanted: int | None = records[-1].seq if records else None
    for record in reversed(records):
        if wanted is None:
            break
        if record.seq <= wanted:
            on_branch.append(record)
            wanted = record.parent
    on_branch.reverse()
    return on_branch


def fold(projection: Projection[ViewT], records: Iterable[Record]) -> ViewT:
    """Apply every known event and return the view; unknown events fold to nothing."""
    for record in records:
        if isinstance(record, Envelope):
            projection.apply(record)
    return projection.view()
