"""A session whose engine runs in another process; the app uses it.

Invariant: history is read from the log file up to the `seq` that the engine reports as stored, and everything after it
comes through the pipe, without gaps or repetitions. History is read in batches, in a thread, and not kept in memory.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Protocol

import anyio
from anyio import to_thread

from tui_agent.config.options import SessionOptions
from tui_agent.engine.mailbox import Mailbox
from tui_agent.errors import TuiAgentError
from tui_agent.folds.session.snapshot import FORMAT, Outline, outlined
from tui_agent.protocol.commands import Close, Command
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.ids import CommandId, SessionId
from tui_agent.session.clock import RandomIds
from tui_agent.session.engine_handle import EngineHandle
from tui_agent.session.wire import Closed, Failed, Held, Opened, Trouble, command_line, read_line
from tui_agent.store.fold_cache import kept
from tui_agent.store.lineage import blobs_of
from tui_agent.store.reader import iterate_records, read_end, read_tail

BATCH = 1_000
"""Maximum number of records that one `next` returns."""


class Live(Protocol):
    """The source of a follower's records once it has read the log file."""

    @property
    def closed(self) -> bool: ...
    @property
    def kept_from(self) -> int:
        """The `seq` of the first record in memory; earlier ones are in the log file."""
        ...

    async def folder(self) -> Path | None:
        """Return the log's folder; None if the session could not be opened."""
        ...

    def next_after(self, seq: int, limit: int) -> Sequence[Record]: ...
    def drop(self, follower: "RemoteFollower") -> None: ...


class RemoteFollower:
    """A cursor that starts after `after`; used by one task at a time.

    History lacks the deltas of finished requests; their complete answers are in it.
    """

    def __init__(self, source: Live, after: int) -> None:
        self._source = source
        self.cursor = after
        self._history: Iterator[Record] | None = None
        self._until = -1
        self._wake: anyio.Event | None = None
        self._closed = False

    async def next(self) -> Sequence[Record]:
        """Wait for and return the records since the last call; empty once the session has ended or this is closed."""
        folder = await self._source.folder()
        while not self._closed:
            batch = await self._read_history(folder) or self._source.next_after(self.cursor, BATCH)
            if batch:
                self.cursor = batch[-1].seq
                return batch
            if self._source.closed:
                break
            self._wake = anyio.Event()  # no await since the check above, so no wake-up is missed
            try:
                await self._wake.wait()
            finally:
                self._wake = None
        return ()

    async def _read_history(self, folder: Path | None) -> Sequence[Record]:
        """Return the next records of the log file while the cursor is before the first record in memory."""
        if folder is None or self.cursor >= self._source.kept_from - 1:
            self._history = None
            return ()
        if self._history is None:
            self._until = self._source.kept_from
            self._history = await to_thread.run_sync(iterate_records, folder, self.cursor)
        batch = await to_thread.run_sync(_next_batch, self._history, self._until)
        if not batch:
            self.cursor = max(self.cursor, self._until - 1)
            self._history = None
        return batch

    def close(self) -> None:
        """Stop following; a waiting `next` returns empty."""
        self._closed = True
        self._source.drop(self)
        self.wake()

    def wake(self) -> None:
        """Wake a waiting `next`, because there may be new records."""
        if self._wake is not None:
            self._wake.set()


def _next_batch(history: Iterator[Record], until: int) -> list[Record]:
    """Return the next records with a `seq` below `until`, at most `BATCH`."""
    batch: list[Record] = []
    for record in history:
        if record.seq >= until:
            break
        batch.append(record)
        if len(batch) >= BATCH:
            break
    return batch


CLOSE_SECONDS = 3.0
CHUNK = 256 * 1024
STANDING_BYTES = 16 * 1024
"""Bytes at the end of a log that are read to find its last event."""
KEEP = 2_000
"""Records that stay in memory after every follower has seen them; older ones are in the log file."""


class RemoteSession:
    """The facade over an engine process, for one event loop. Nothing moves unless `serve` runs.

    `named` is the folder of the session if the options name one. Its log can be read before the engine has locked it.
    """

    def __init__(self, handle: EngineHandle, *, named: Path | None = None) -> None:
        self._handle = handle
        self._named = named
        self._ids = RandomIds()
        self._outbox = Mailbox()
        self._records: deque[Record] = deque()
        self._kept_from = 0
        self._followers: set[RemoteFollower] = set()
        self._held: Held | None = None
        self._opened: Opened | None = None
        self._failure: TuiAgentError | None = None
        self._is_held = anyio.Event()
        self._is_open = anyio.Event()
        self._ended = anyio.Event()
        self.trouble: Trouble | None = None
        """The newest storage error of the engine."""

    @classmethod
    def spawn(cls, options: SessionOptions, *, named: Path | None = None) -> "RemoteSession":
        """Start the engine process and return at once; `opened` waits for it."""
        return cls(EngineHandle.start(options), named=named)

    @property
    def id(self) -> SessionId:
        """The session's id; empty before it is open."""
        return SessionId(self._opened.session if self._opened is not None else "")

    @property
    def closed(self) -> bool:
        """True if the engine is gone, so that no new records come."""
        return self._ended.is_set()

    async def held(self) -> Held | None:
        """Wait until the log can be read, and return its position; None if the engine failed to lock the session.

        Returns at once if the options name an existing session, else when the engine has locked it.
        """
        if not self._is_held.is_set() and self._named is not None:
            position = await to_thread.run_sync(_read_position, self._named)
            if position is not None:
                self._allow_reading(position)
                return position
        await self._is_held.wait()
        return self._held

    def _allow_reading(self, held: Held) -> None:
        """Let followers read the file up to this position before the engine has opened the session."""
        if self._opened is None:
            self._kept_from = max(self._kept_from, held.last_seq + 1)

    async def kept(self) -> tuple[int, Outline] | None:
        """Return the cached fold's outline for a first screen, with its last event; None if there is no cached fold."""
        folder = await self.folder()
        cached = None if folder is None else await to_thread.run_sync(kept, folder, FORMAT)
        outline = None if cached is None else await to_thread.run_sync(outlined, cached[1])
        return None if cached is None or outline is None else (cached[0].seq, outline)

    async def opened(self) -> Opened:
        """Wait until the engine has opened the session. Raises the error if it could not."""
        await self._is_open.wait()
        if self._opened is None:
            raise self._failure or TuiAgentError("The engine ended before it opened the session.")
        return self._opened

    def submit(self, command: Command) -> CommandId:
        """Queue a command and return its id; works before the session is open."""
        if not command.id:
            command = command.model_copy(update={"id": self._ids.command()})
        if not self.closed:
            self._outbox.put(command)
        return command.id

    def follow(self, after: int = -1) -> RemoteFollower:
        """Follow the log: history after `after`, then new records."""
        follower = RemoteFollower(self, after)
        self._followers.add(follower)
        return follower

    @property
    def kept_from(self) -> int:
        """The `seq` of the first record that is in memory (for followers)."""
        return self._kept_from

    async def folder(self) -> Path | None:
        """Wait for the session's folder; None if the engine failed to lock the session."""
        held = await self.held()
        return None if held is None else Path(held.folder)

    def next_after(self, seq: int, limit: int) -> Sequence[Record]:
        """Return up to `limit` records after `seq` from memory (for followers), and drop records that all have seen."""
        start = max(0, seq + 1 - self._kept_from)
        records = list(islice(self._records, start, start + limit))
        seen = min((follower.cursor for follower in self._followers), default=seq)
        while len(self._records) > KEEP and self._kept_from <= seen:
            self._records.popleft()
            self._kept_from += 1
        return records

    def drop(self, follower: RemoteFollower) -> None:
        """Remove a follower that has stopped."""
        self._followers.discard(follower)

    async def tail(self, count: int) -> Sequence[Record]:
        """Return the log's newest records for a first screen: as many as contain `count` besides those of an opening."""
        folder = await self.folder()
        return () if folder is None else await to_thread.run_sync(read_end, folder, count)

    async def read_blob(self, blob_sha256: str) -> bytes:
        """Return a blob's bytes, read from the session's folder. Raises `BlobMissing`."""
        opened = await self.opened()
        return await to_thread.run_sync(blobs_of(Path(opened.folder)).read, blob_sha256)

    async def serve(self) -> None:
        """Send commands to the engine and receive its records until it ends."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=CHUNK)
        transport, _ = await loop.connect_read_pipe(
            partial(asyncio.StreamReaderProtocol, reader), self._handle.child.stdout
        )
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._send)
                await self._receive(reader)
                group.cancel_scope.cancel()
        finally:
            transport.close()
            self._mark_ended()

    async def _send(self) -> None:
        async for command in self._outbox.commands():
            if not await to_thread.run_sync(self._handle.send, command_line(command)):
                return

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        rest = b""
        while data := await reader.read(CHUNK):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._take_line(line)
            for follower in tuple(self._followers):
                follower.wake()

    def _take_line(self, line: bytes) -> None:
        match read_line(line):
            case None:
                return
            case Held() as held:
                self._held = held
                self._allow_reading(held)
                self._is_held.set()
            case Opened() as opened:
                self._opened = opened
                self._kept_from = opened.stored + 1
                self._is_open.set()
            case Failed() as failed:
                self._failure = failed.exception()
                self._is_open.set()
            case Trouble() as trouble:
                self.trouble = trouble
            case Closed():
                return
            case record:
                self._records.append(record)

    def _mark_ended(self) -> None:
        if self._opened is None and self._failure is None:
            lines = self.last_words().splitlines()
            last = lines[-1] if lines else "no message"
            self._failure = TuiAgentError(
                f"The engine process ended: {last}.", hint="Run `tui-agent doctor` to find out why."
            )
        self._is_held.set()
        self._is_open.set()
        self._ended.set()
        for follower in tuple(self._followers):
            follower.wake()

    def last_words(self) -> str:
        """Return the end of the engine's standard error without secrets."""
        # Imported late: the redactor takes 30 ms to load, and only a failed engine needs it.
        clean: Callable[..., str] = import_module("tui_agent.session.fault_redaction").without_secrets
        return clean(self._handle.last_words(), os.environ, Path.cwd())

    async def aclose(self) -> None:
        """Let the engine stop the turn, store the end and release the lock; kill it after `CLOSE_SECONDS`."""
        self.submit(Close())
        with anyio.move_on_after(CLOSE_SECONDS):
            await self._ended.wait()
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(self._handle.close, 1.0)


def _read_position(folder: Path) -> Held | None:
    """Return the position of a log that may not be locked yet; None if there is none, or its last line is too long."""
    try:
        last = read_tail(folder, 1, max_bytes=STANDING_BYTES)
    except OSError:
        return None
    return Held(folder.name, str(folder), last[-1].seq) if last else None
