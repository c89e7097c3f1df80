"""The single writer of a session's log, and the followers that receive old and new records in batches.

Invariant: an event is written as one whole line by one `write`, or it is not in the log.
"""
# Followers pull records, so that a slow follower does not delay the writer.

import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

import anyio
import anyio.to_thread
from pydantic import ValidationError
from pydantic_core import to_json

from tui_agent.errors import StoreError, StoreFull, os_errors_as
from tui_agent.folds.projection import current_branch
from tui_agent.folds.session.branches import Stretch, is_on_branch
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import LogRepaired, SessionHeadMoved
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CommandId, SessionId
from tui_agent.store.blobs import BlobStore, replace_lone_surrogates
from tui_agent.store.file_ops import FileOps, advice_for, make_folder
from tui_agent.store.fold_cache import LinePosition
from tui_agent.store.lineage import CRC_SLICE, has_event, open_blobs
from tui_agent.store.log_line import MAX_LINE_BYTES, decode_line, encode_body, parse_event, seal_line
from tui_agent.store.log_reader import iterate_records, read_records
from tui_agent.store.log_repair import EVENTS_FILE, OpenedLog, copy_to_new_file, rewrite_log
from tui_agent.store.payload_shrinker import Shrinker
from tui_agent.store.record_follower import RecentRecords, RecordFollower
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.writer_lock import WriterLock
from tui_agent.units import format_bytes

_ENVELOPE_ROOM = 1_024
"""Number of bytes in a log line that are reserved for the event's fields other than the payload."""
QUIET_KINDS: Final = frozenset(
    """session.started run.started run.finished settings.changed command.rejected agent.state_changed
    plugin.loaded plugin.failed env.started env.stopped hook.ran""".split()  # noqa: SIM905 - read as prose
)
"""Kinds of events that also occur in a session without messages.

In a `lazy` log, these events stay in memory until an event of another kind occurs.
"""
OpenLog = Callable[[], tuple[WriterLock, OpenedLog]]
"""Function that acquires a session's lock and opens (or creates) its log."""
MAX_BATCH = 2_000
"""Maximum number of records in one `next_batch`."""
# A larger batch would block the event loop.


class WallClock(Protocol):
    """The clock for the time of events, in seconds since the epoch."""

    def now(self) -> float: ...


class LogFollower(RecordFollower["SessionLog"]):
    """Returns the records of one log after an event. Use it on the writer's event loop."""

    async def read_batch(self) -> Sequence[Record]:
        return self._source.next_after(self.cursor, MAX_BATCH)


class SessionLog:
    """One session's append-only log, open for writing. Implements `ports.log.Log`.

    `append`, `read` and followers must use one thread. If the attribute `repair` is an event, the caller must record
    it.

    With `lazy`, the file is created at the first event whose kind is not in `QUIET_KINDS`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: WallClock,
        redactor: Redactor,
        open_log: OpenLog,
        ops: FileOps | None = None,
        lazy: bool = False,
    ) -> None:
        self.folder = folder
        self._path = folder / EVENTS_FILE
        self.session = SessionId(folder.name)
        self._clock = clock
        self._open_log = open_log
        self._lock: WriterLock | None = None
        self._unwritten: list[bytes] = []
        self.ops = ops or FileOps()
        self.blobs = open_blobs(folder, redactor=redactor, ops=self.ops)
        self._shrinker = Shrinker(self.blobs, redactor)
        self.repair: LogRepaired | None = None
        self._fd, self._end, self._last_seq, self._lines = -1, 0, -1, 0
        self.place: LinePosition | None = None
        """Position just after this process's newest event in the file. None before the first write."""
        if not lazy:
            self._open_file()
        self.previous_last_seq = self._last_seq
        """The `seq` of the last event that an earlier process recorded; -1 in a new session."""
        self._recent = RecentRecords()
        self._has_torn_end = False
        self._synced = 0
        self._syncing: anyio.Event | None = None
        self._has_failed_sync = False
        self._file_guard = threading.Lock()
        self._sync_guard = threading.Lock()
        self._followers: set[LogFollower] = set()
        self._closed = False
        self._names: dict[str | None, bytes] = {None: b"null"}
        """Names of sessions and agents, encoded as JSON once."""

    @property
    def last_seq(self) -> int:
        """The `seq` of the newest event; -1 for an empty log."""
        return self._last_seq

    @property
    def last_stored_seq(self) -> int:
        """The `seq` of the last event written to the file; -1 before the first write."""
        return -1 if self._lock is None or self._unwritten else self._last_seq

    @property
    def is_closed(self) -> bool:
        return self._closed

    def _open_file(self) -> None:
        self._lock, opened = self._open_log()
        self.repair = opened.repair
        self._fd, self._end, self._lines = opened.fd, opened.end, opened.lines
        self._last_seq = max(self._last_seq, opened.last_seq)

    def append(
        self, payload: Payload, *, agent: AgentId = MAIN_AGENT, cause: CommandId | None = None
    ) -> Envelope:
        """Store one event and return it in its stored form: secrets are redacted, and long texts are in blobs.

        Raise `StoreFull` if the event cannot be stored; the log stays unchanged. Raise `StoreError` for an invalid
        payload or a closed log.
        """
        if self._closed:
            raise StoreError(f"The session {self.session} is closed; {payload.kind} was not recorded.")
        if self._lock is None and payload.kind not in QUIET_KINDS:
            self._open_file()
        raw = self._shrinker.prepare(payload, MAX_LINE_BYTES - _ENVELOPE_ROOM)
        header = (self._last_seq + 1, self._clock.now(), self._name(self.session), self._name(agent))
        cause_json = b"null" if cause is None else to_json(replace_lone_surrogates(cause))
        line = seal_line(encode_body(*header, self._parent_of(payload), cause_json, raw))
        # The event is decoded from its own line, so that this process continues with exactly what a reader gets.
        event = _read_back(line[:-1], payload.kind, self.blobs)
        if self._lock is None:
            self._unwritten.append(line)
        else:
            self._write(b"".join((*self._unwritten, line)), payload.kind)
            self._lines += len(self._unwritten) + 1
            self._unwritten = []
            self.place = LinePosition(event.seq, self._end, self._lines, line[:-1][CRC_SLICE].decode())
        # Only now, because the number is used again if the event could not be written.
        self._last_seq = event.seq
        self._recent.add(event, len(line))
        if self._lock is not None:
            self._recent.drop_older()
        for follower in self._followers:
            follower.wake()
        return event

    def _parent_of(self, payload: Payload) -> int | None:
        if isinstance(payload, SessionHeadMoved):
            return payload.to_seq
        return self._last_seq if self._last_seq >= 0 else None

    def _name(self, name: str) -> bytes:
        encoded = self._names.get(name)
        if encoded is None:
            encoded = self._names[name] = to_json(replace_lone_surrogates(name))
        return encoded

    def _write(self, line: bytes, kind: str) -> None:
        with self._file_guard:
            try:
                if self._has_torn_end:
                    self._truncate_torn_end()
                # Not repeated for the rest: a short write means a full disk, and the log must end with a whole line.
                count = self.ops.write(self._fd, line)
                if count == len(line):
                    self._end += count
                    return
                reason = f"only {format_bytes(count)} of {format_bytes(len(line))} were written"
                cause = None
            except OSError as fault:
                reason, cause = fault.strerror or str(fault), fault
            # Set before the attempt: if the cut fails too, the next write tries it again first.
            self._has_torn_end = True
            try:
                self._truncate_torn_end()
            except OSError:
                reason += ", and the incomplete line could not be removed yet"
            raise StoreFull(
                f"{kind} could not be stored in {self._path}: {reason}.",
                hint=f"{'Free some space' if cause is None else advice_for(cause)} and try again; "
                "all earlier events are stored.",
            ) from cause

    def repair_file(self) -> LogRepaired | None:
        """Rewrite the log if its file was removed or replaced, without loss of events.

        Return an event for the caller to record, or None if the file is intact. Raise `StoreError` on failure.
        """
        if self._lock is None or self._closed or self.ops.is_current(self._fd, self._path):
            return None
        with self._sync_guard, self._file_guard:
            try:
                make_folder(self.folder)
                self._lock = self._lock.reacquire()
                fd, side_file = rewrite_log(self.folder, self._fd, self._end, self.ops)
            except OSError as fault:
                raise StoreFull(
                    f"The log {self._path} was removed while it was open and could not be rewritten: "
                    f"{fault.strerror or fault}.",
                    hint=f"{advice_for(fault)}. Until then the session is in memory only.",
                ) from fault
            self._switch_to(fd)
            self.blobs.forget_known()
        return LogRepaired(moved_bytes=0, side_file=side_file, rewritten=True)

    def _switch_to(self, fd: int) -> None:
        old_fd, self._fd = self._fd, fd
        self._synced = self._end
        self._has_failed_sync = self._has_torn_end = False
        self.ops.close(old_fd)

    def _truncate_torn_end(self) -> None:
        self.ops.truncate(self._fd, self._end)
        self._has_torn_end = False

    async def commit(self) -> None:
        """Wait until everything appended so far is on stable storage. Raise `StoreError` if syncing fails."""
        target = self._end
        while self._synced < target:
            # One sync serves all waiters. What was appended after its start needs another one.
            if self._syncing is not None:
                await self._syncing.wait()
                continue
            self._syncing = finished = anyio.Event()
            try:
                await anyio.to_thread.run_sync(self._sync)
            finally:
                self._syncing = None
                finished.set()

    def _sync(self) -> None:
        with self._sync_guard:
            # Events that are written during the sync may not be covered, so the end is read before it. Blobs come first: a
            # stored event must never name a text that a power failure lost.
            end = self._end
            self.blobs.sync()
            try:
                if not self._has_failed_sync:
                    self.ops.sync(self._fd)
                    self._synced = end
                    return
            except OSError:
                self._has_failed_sync = True
            with os_errors_as(
                StoreError,
                f"The log of session {self.session} could not be synced to disk",
                hint="Check the disk. Do not run anything with side effects until this works.",
            ):
                self._move_to_new_file()

    def _move_to_new_file(self) -> None:
        """Copy the log to a new file, after a failed sync."""
        # Pages of the old file can be lost.
        with self._file_guard:
            self._switch_to(copy_to_new_file(self.folder, self._end, self.ops))

    def read(self, after: int = -1) -> Sequence[Record]:
        """Return all records with `seq` > `after`."""
        if self._needs_file(after):
            return read_records(self.folder, after, size=self._end)
        return self._recent.records_after(after)

    def read_branch(self, stretches: Sequence[Stretch] | None = None, after: int = -1) -> Iterable[Record]:
        """Return the records with `seq` > `after` on the current branch, without the streamed pieces of finished
        answers.

        `stretches`: ranges of event numbers that select another branch.
        """
        if self._lock is not None:
            return iterate_records(
                self.folder, after, current_branch_only=stretches is None, stretches=stretches
            )
        recent = self._recent.records_after(-1)
        selected = (
            current_branch(recent)
            if stretches is None
            else (record for record in recent if is_on_branch(record.seq, stretches))
        )
        return [record for record in selected if record.seq > after]

    def has_event(self, seq: int) -> bool:
        """Return True if an event with this `seq` exists, on any branch."""
        first = self._recent.first_seq
        if first is None or seq < first:
            return self._lock is not None and has_event(self.folder, seq)
        return self._recent.has(seq)

    def next_after(self, seq: int, limit: int) -> Sequence[Record]:
        """Return the first `limit` records with a number greater than `seq`."""
        if self._needs_file(seq):
            return read_records(self.folder, seq, limit, size=self._end)
        return self._recent.records_after(seq, limit)

    def _needs_file(self, after: int) -> bool:
        if after >= self._last_seq or not self._end:
            return False
        first = self._recent.first_seq
        return first is None or first > after + 1

    def follow(self, after: int = -1) -> LogFollower:
        """Return a follower for the records with `seq` > `after`."""
        follower = LogFollower(self, after)
        self._followers.add(follower)
        return follower

    def remove_follower(self, follower: LogFollower) -> None:
        self._followers.discard(follower)

    def close(self) -> None:
        """Close the file and release the lock. Followers can still read the remaining records."""
        if self._closed:
            return
        self._closed = True
        if self._lock is not None:
            # Waits for a sync that runs in another thread: it uses the descriptor.
            with self._sync_guard:
                self.ops.close(self._fd)
            self._lock.release()
        for follower in tuple(self._followers):
            follower.wake()


def _read_back(line: bytes, kind: str, blobs: BlobStore) -> Envelope:
    try:
        return parse_event(line)
    except ValidationError as fault:
        event = decode_line(line, blobs)
        if isinstance(event, Envelope):
            return event
        raise StoreError(
            f"The event {kind} cannot be recorded: its values are not valid.",
            hint=str(fault)[:500],
        ) from fault
