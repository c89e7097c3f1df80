"""A session whose engine runs in another process, as in the app.

Invariant: followers get all records once and in order.
"""

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import count, islice
from pathlib import Path

import anyio
from anyio import to_thread

from tui_agent.config.session_options import SessionOptions
from tui_agent.engine.mailbox import Mailbox
from tui_agent.errors import TuiAgentError
from tui_agent.folds.session.snapshot import FORMAT, SnapshotOutline, load_outline
from tui_agent.ports.session import STOP_SIGNAL, LockedNote, OpenedNote, StorageFaultNote
from tui_agent.protocol.commands import Close, Command, Interrupt
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.ids import CommandId, SessionId
from tui_agent.session.clock import RandomIds
from tui_agent.session.engine_handle import EngineLink, connect_engine
from tui_agent.session.wire import (
    ClosedNote,
    CompletionRequest,
    CompletionsNote,
    FailedNote,
    Request,
    read_line,
    request_line,
)
from tui_agent.store.fold_cache import load_fold
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_reader import iterate_records, read_content_tail, read_tail
from tui_agent.store.record_follower import RecordFollower

MAX_BATCH_RECORDS = 1_000
"""Maximum number of records in one `next_batch`."""


class RemoteFollower(RecordFollower["RemoteSession"]):
    """Returns the records of a remote session after an event."""

    def __init__(self, source: "RemoteSession", after: int) -> None:
        super().__init__(source, after)
        self._history: Iterator[Record] | None = None
        """Records from the log file. None while the follower reads from memory."""
        self._until = -1
        """`_history` is read up to this event: memory contains the later ones."""

    async def read_batch(self) -> Sequence[Record]:
        history = await self._read_history(await self._source.folder())
        return history or self._source.records_after(self.cursor, MAX_BATCH_RECORDS)

    async def _read_history(self, folder: Path | None) -> Sequence[Record]:
        """Return the next records from the log file; empty if the following records are in memory."""
        if folder is None or self.cursor >= self._source.first_seq_in_memory - 1:
            self._history = None
            return ()
        if self._history is None:
            self._until = self._source.first_seq_in_memory
            self._history = await to_thread.run_sync(iterate_records, folder, self.cursor)
        batch = await to_thread.run_sync(_next_batch, self._history, self._until)
        if not batch:
            self.cursor = max(self.cursor, self._until - 1)
            self._history = None
            return await self._read_history(folder)  # the engine may have stored more meanwhile
        return batch


def _next_batch(history: Iterator[Record], until: int) -> list[Record]:
    batch: list[Record] = []
    for record in history:
        if record.seq >= until:
            break
        batch.append(record)
        if len(batch) >= MAX_BATCH_RECORDS:
            break
    return batch


CLOSE_TIMEOUT_S = 3.0
CHUNK_BYTES = 256 * 1024
TAIL_BYTES = 16 * 1024
"""Number of bytes at the end of a log that are searched for the last event."""
MAX_SEEN_RECORDS = 2_000
"""Maximum number of records in memory after every follower has received them."""


class RemoteSession:
    """A session whose engine runs in another process. Use it in one event loop only.

    `named`: the session's folder, if the options name a session.
    """

    def __init__(self, handle: EngineLink, *, named: Path | None = None) -> None:
        self._handle = handle
        self._named = named
        self._ids = RandomIds()
        self._request_ids = count(1)
        self._outbox: Mailbox[Request] = Mailbox()
        self._completions: dict[int, asyncio.Future[Sequence[str]]] = {}
        """Requests for completions that the engine has not answered yet, by id."""
        self._records: deque[Record] = deque()
        self._kept_from = 0
        """The `seq` of the first record in `_records`. Followers read earlier records from the log file."""
        self._followers: set[RemoteFollower] = set()
        self._held: LockedNote | None = None
        self._opened: OpenedNote | None = None
        self.failure: TuiAgentError | None = None
        """The error that ended the engine, or kept it from opening the session."""
        self._ended_normally = False
        self._is_held = anyio.Event()
        self._is_open = anyio.Event()
        self._ended = anyio.Event()
        self.storage_fault: StorageFaultNote | None = None
        """The newest storage error of the engine."""

    @classmethod
    def spawn(cls, options: SessionOptions, *, named: Path | None = None) -> "RemoteSession":
        """Start the engine process, or connect to a server's engine.

        Do not wait until the engine has opened the session.
        """
        return cls(connect_engine(options), named=named)

    @property
    def id(self) -> SessionId:
        """The session's id. Empty until the session is open."""
        return SessionId(self._opened.session if self._opened is not None else "")

    @property
    def is_closed(self) -> bool:
        """True if the engine process has exited."""
        return self._ended.is_set()

    async def wait_until_readable(self) -> LockedNote | None:
        """Wait until the log can be read. Return the session's folder and the number of its last event.

        Return None if the session cannot be locked.
        """
        if not self._is_held.is_set() and self._named is not None:
            position = await to_thread.run_sync(_read_position, self._named)
            if position is not None:
                self._allow_reading(position)
                return position
        await self._is_held.wait()
        return self._held

    def _allow_reading(self, position: LockedNote) -> None:
        """Let followers read the log file up to the event `position.last_seq`, even if the session is not open yet."""
        if self._opened is None:
            self._kept_from = max(self._kept_from, position.last_seq + 1)

    async def load_outline(self) -> tuple[int, SnapshotOutline] | None:
        """Return (number of the last cached event, outline of the session state then).

        Return None if no state is cached.
        """
        folder = await self.folder()
        cached = None if folder is None else await to_thread.run_sync(load_fold, folder, FORMAT)
        outline = None if cached is None else await to_thread.run_sync(load_outline, cached[1])
        return None if cached is None or outline is None else (cached[0].seq, outline)

    async def wait_until_open(self) -> OpenedNote:
        """Wait until the engine has opened the session. Raise the engine's error if the session cannot be opened."""
        await self._is_open.wait()
        if self._opened is None:
            raise self.failure or TuiAgentError("The engine ended before it opened the session.")
        return self._opened

    def submit(self, command: Command) -> CommandId:
        """Queue a command and return its id."""
        if not command.id:
            command = command.model_copy(update={"id": self._ids.command()})
        if not self.is_closed:
            self._outbox.post(command)
            # A signal as well, because the engine cannot read commands while a plugin blocks its event loop.
            if isinstance(command, Interrupt) and self._opened is not None:
                with suppress(OSError):  # the engine has just exited
                    os.kill(self._opened.pid, STOP_SIGNAL)
        return command.id

    def follow(self, after: int = -1) -> RemoteFollower:
        """Return a follower that yields the records after the event `after`, and then new records."""
        follower = RemoteFollower(self, after)
        self._followers.add(follower)
        return follower

    @property
    def first_seq_in_memory(self) -> int:
        """The `seq` of the first record in memory."""
        return self._kept_from

    async def folder(self) -> Path | None:
        """Wait until the session's folder is known, and return it.

        Return None if the engine failed to lock the session.
        """
        position = await self.wait_until_readable()
        return None if position is None else Path(position.folder)

    def records_after(self, seq: int, limit: int) -> Sequence[Record]:
        """Return up to `limit` records after `seq` from memory."""
        start = max(0, seq + 1 - self._kept_from)
        records = list(islice(self._records, start, start + limit))
        seen = min((follower.cursor for follower in self._followers), default=seq)
        while len(self._records) > MAX_SEEN_RECORDS and self._kept_from <= seen:
            self._records.popleft()
            self._kept_from += 1
        return records

    def remove_follower(self, follower: RemoteFollower) -> None:
        """Remove a follower that has stopped."""
        self._followers.discard(follower)

    async def read_newest(self, count: int) -> Sequence[Record]:
        """Return at least `count` of the newest records, if there are so many."""
        folder = await self.folder()
        return () if folder is None else await to_thread.run_sync(read_content_tail, folder, count)

    async def read_blob(self, blob_sha256: str) -> bytes:
        """Read a blob from the session's folder. Raise `BlobNotFound` if the blob is missing or damaged."""
        opened = await self.wait_until_open()
        return await to_thread.run_sync(open_blobs(Path(opened.folder)).read, blob_sha256)

    async def complete(self, command: str, arguments: str) -> Sequence[str]:
        """Ask the engine for completions of a slash command's arguments."""
        if self.is_closed:
            return ()
        request = CompletionRequest(next(self._request_ids), command, arguments)
        answer: asyncio.Future[Sequence[str]] = asyncio.get_running_loop().create_future()
        self._completions[request.id] = answer
        self._outbox.post(request)
        try:
            return await answer
        finally:
            del self._completions[request.id]

    async def serve(self) -> None:
        """Send commands to the engine and receive its records, until the engine ends."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=CHUNK_BYTES)
        transport, _ = await loop.connect_read_pipe(
            partial(asyncio.StreamReaderProtocol, reader), self._handle.output
        )
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._send)
                await self._receive(reader)
                # The engine has ended, but `_send` would wait for further commands.
                group.cancel_scope.cancel()
        finally:
            transport.close()
            if self._opened is not None and not self._ended_normally:
                # The engine died. What it stored but did not send is in the log, so followers read the rest from there.
                self._records.clear()
                self._kept_from = sys.maxsize
            self._mark_ended()

    async def _send(self) -> None:
        async for request in self._outbox.commands():
            if not await to_thread.run_sync(self._handle.send, request_line(request)):
                return

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        # Not `readline`: it raises an error if a line is longer than the reader's limit.
        rest = b""
        while data := await reader.read(CHUNK_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._take_line(line)
            for follower in tuple(self._followers):
                follower.wake()

    def _take_line(self, line: bytes) -> None:
        match read_line(line):
            case None:
                return
            case LockedNote() as held:
                self._held = held
                self._allow_reading(held)
                self._is_held.set()
            case OpenedNote() as opened:
                self._opened = opened
                self._kept_from = opened.stored_seq + 1
                self._is_open.set()
            case FailedNote() as failed:
                self.failure = failed.exception()
                self._is_open.set()  # wakes the waiters, which then raise the error
            case StorageFaultNote() as trouble:
                self.storage_fault = trouble
            case CompletionsNote(id=request, texts=texts):
                self._answer_completion(request, texts)
            case ClosedNote():
                self._ended_normally = True
            case record:
                self._records.append(record)

    def _answer_completion(self, request: int, texts: Sequence[str]) -> None:
        answer = self._completions.get(request)
        if answer is not None and not answer.done():  # done: the waiter was cancelled
            answer.set_result(texts)

    def _mark_ended(self) -> None:
        if self._opened is None and self.failure is None:
            lines = self.stderr_tail().splitlines()
            # Import this late, like the redactor below.
            describe: Callable[..., TuiAgentError] = import_module(
                "tui_agent.session.engine_crash"
            ).describe_crash
            self.failure = describe(self._handle.pid, lines[-1] if lines else "", os.environ, Path.cwd())
        self._is_held.set()
        self._is_open.set()
        self._ended.set()
        for request in tuple(self._completions):
            self._answer_completion(request, ())
        for follower in tuple(self._followers):
            follower.wake()

    def stderr_tail(self) -> str:
        """Return the end of the engine's standard error with secrets redacted."""
        # Import this late: the redactor takes 30 ms to load, and only a failed engine needs it.
        clean: Callable[..., str] = import_module("tui_agent.session.fault_redaction").redact_text
        return clean(self._handle.stderr_tail(), os.environ, Path.cwd())

    async def aclose(self) -> None:
        """Stop the turn and end the engine. Kill the engine after `CLOSE_TIMEOUT_S`."""
        self.submit(Close())
        with anyio.move_on_after(CLOSE_TIMEOUT_S):
            await self._ended.wait()
        with anyio.CancelScope(shield=True):  # a cancelled client must not leave an engine process behind
            await to_thread.run_sync(self._handle.close, 1.0)


def _read_position(folder: Path) -> LockedNote | None:
    """Return the last event in the log file in `folder`, or None if no event can be read."""
    try:
        last = read_tail(folder, 1, max_bytes=TAIL_BYTES)
    except OSError:
        return None
    return LockedNote(folder.name, str(folder), last[-1].seq) if last else None
