"""Bounded preview of a session: all of a short one, else its end and its first message.

Invariant: no more than `max_bytes` bytes of a log are read, however long it is, and nothing of a long parent's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_agent.protocol.base import LongText
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.store.lineage import open_blobs, read_origin
from tui_agent.store.log_reader import read_records, read_tail_bytes
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.log_scan import read_records_from

MAX_BYTES = 1024 * 1024
"""Default limit of bytes read for a preview."""
_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class SessionPreview:
    """Records of a preview. `first` is the first message if it is not among the `read_records_from`."""

    records: Sequence[Record]
    is_complete: bool
    first: Envelope | None = None

    @property
    def first_message(self) -> LongText:
        """The text of `first`."""
        payload = self.first.payload if self.first is not None else None
        return payload.text if isinstance(payload, UserMessageReceived) else ""


def read_preview(
    folder: Path, size: int, *, max_bytes: int = MAX_BYTES, own_only: bool = False
) -> SessionPreview:
    """Preview a session whose log has `size` bytes; `own_only` leaves out its parents' events. Raises OSError."""
    blobs = open_blobs(folder)
    if size <= max_bytes and not own_only and _parents_size(folder, max_bytes) + size <= max_bytes:
        return SessionPreview(read_records(folder, skip_deltas=True), is_complete=True)
    tail = list(read_records_from(read_tail_bytes(folder / EVENTS_FILE, max_bytes), blobs, skip_deltas=True))
    return SessionPreview(
        tail,
        is_complete=own_only and size <= max_bytes,
        first=_first_message(folder) if size > max_bytes else None,
    )


def _parents_size(folder: Path, most: int) -> int:
    """Return the total bytes of the logs that a fork inherits from, counted up to about `max_bytes`."""
    total, visited = 0, {folder}
    while total <= most and (origin := read_origin(folder)) is not None and origin.folder not in visited:
        folder = origin.folder
        visited.add(folder)
        try:
            total += (folder / EVENTS_FILE).stat().st_size
        except OSError:
            break
    return total


def _first_message(folder: Path) -> Envelope | None:
    """Return the first message if it is at the beginning of the log."""
    with (folder / EVENTS_FILE).open("rb") as log:
        head = log.read(_HEAD)
    for record in read_records_from(head, open_blobs(folder)):
        if isinstance(record, Envelope) and isinstance(record.payload, UserMessageReceived):
            return record
    return None
