"""Bounded preview of a session: all of a short one, else its end and its first message.

Invariant: no more than `most` bytes of a log are read, however long it is, and nothing of a long parent's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_agent.protocol.base import LongText
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.store.lineage import blobs_of, origin_of
from tui_agent.store.reader import read_records, tail_bytes
from tui_agent.store.repair import EVENTS
from tui_agent.store.scan import records

MOST = 1024 * 1024
"""Default limit of bytes read for a preview."""
_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Glimpse:
    """Records of a preview. `first` is the first message if it is not among the `records`."""

    records: Sequence[Record]
    whole: bool
    first: Envelope | None = None

    @property
    def first_message(self) -> LongText:
        """The text of `first`."""
        payload = self.first.payload if self.first is not None else None
        return payload.text if isinstance(payload, UserMessageReceived) else ""


def glimpse(folder: Path, size: int, *, most: int = MOST, own: bool = False) -> Glimpse:
    """Preview a session whose log has `size` bytes; `own` leaves out its parents' events. Raises OSError."""
    blobs = blobs_of(folder)
    if size <= most and not own and _parents_size(folder, most) + size <= most:
        return Glimpse(read_records(folder, skip_deltas=True), whole=True)
    tail = list(records(tail_bytes(folder / EVENTS, most), blobs, skip_deltas=True))
    return Glimpse(tail, whole=own and size <= most, first=_first_message(folder) if size > most else None)


def _parents_size(folder: Path, most: int) -> int:
    """Return the total bytes of the logs that a fork inherits from, counted up to about `most`."""
    total, visited = 0, {folder}
    while total <= most and (origin := origin_of(folder)) is not None and origin.folder not in visited:
        folder = origin.folder
        visited.add(folder)
        try:
            total += (folder / EVENTS).stat().st_size
        except OSError:
            break
    return total


def _first_message(folder: Path) -> Envelope | None:
    """Return the first message if it is at the beginning of the log."""
    with (folder / EVENTS).open("rb") as log:
        head = log.read(_HEAD)
    for record in records(head, blobs_of(folder)):
        if isinstance(record, Envelope) and isinstance(record.payload, UserMessageReceived):
            return record
    return None
