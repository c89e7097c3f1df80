"""L5: a session whose engine runs in a process of its own; what the app drives.

Invariant: history is read from the log's file up to the seq that the engine announces, and everything after it comes
through the pipe: without a gap and without a repetition.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from tui_agent.config.options import SessionOptions
from tui_agent.engine.mailbox import Mailbox
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.commands import Close, Command
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.ids import CommandId, SessionId
from tui_agent.session.clock import RandomIds
from tui_agent.session.engine_handle import EngineHandle
from tui_agent.session.wire import Closed, Failed, Opened, Trouble, command_line, read_line
from tui_agent.store.blobs import BlobStore
from tui_agent.store.follow import LogFollower
from tui_agent.store.reader import read_records

CLOSE_SECONDS = 3.0
CHUNK = 256 * 1024


class RemoteSession:
    """The facade over an engine's process, for one event loop. `serve` must run for anything to move."""

    def __init__(self, handle: EngineHandle) -> None:
        self._handle = handle
        self._ids = RandomIds()
        self._outbox = Mailbox()
        self._records: list[Record] = []
        self._seqs: list[int] = []
        self._followers: set[LogFollower] = set()
        self._opened: Opened | None = None
        self._failure: TuiAgentError | None = None
        self._is_open = anyio.Event()
        self._ended = anyio.Event()
        self.trouble: Trouble | None = None
        """The newest thing that the engine could not store."""

    @classmethod
    def spawn(cls, options: SessionOptions) -> "RemoteSession":
        """Start the engine's process and return at once; `opened` waits for it."""
        return cls(EngineHandle.start(options))

    @property
    def id(self) -> SessionId:
        """The session's id; empty before it is open."""
        return SessionId(self._opened.session if self._opened is not None else "")

    @property
    def closed(self) -> bool:
        """The engine is gone; nothing new comes."""
        return self._ended.is_set()

    async def opened(self) -> Opened:
        """Wait until the engine holds the session. Raises what kept it from that."""
        await self._is_open.wait()
        if self._opened is None:
            raise self._failure or TuiAgentError("The engine ended before it opened the session.")
        return self._opened

    def submit(self, command: Command) -> CommandId:
        """Enqueue a command; also before the session is open."""
        if not command.id:
            command = command.model_copy(update={"id": self._ids.command()})
        if not self.closed:
            self._outbox.put(command)
        return command.id

    def follow(self, after: int = -1) -> LogFollower:
        """History from `after`, then live."""
        follower = LogFollower(self, after)
        self._followers.add(follower)
        return follower

    def next_after(self, seq: int, limit: int) -> Sequence[Record]:
        """Records behind `seq` that are here already (for followers)."""
        start = bisect_right(self._seqs, seq)
        return self._records[start : start + limit]

    def drop(self, follower: LogFollower) -> None:
        """A follower has stopped."""
        self._followers.discard(follower)

    async def read_blob(self, blob_sha256: str) -> bytes:
        """A blob's bytes, from the session's folder. Raises `BlobMissing`."""
        opened = await self.opened()
        return await to_thread.run_sync(BlobStore(Path(opened.folder) / "blobs").read, blob_sha256)

    async def serve(self) -> None:
        """Carry commands to the engine and records from it, until it ends."""
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
            self._end()

    async def _send(self) -> None:
        async for command in self._outbox.commands():
            if not await to_thread.run_sync(self._handle.send, command_line(command)):
                return

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        rest = b""
        while data := await reader.read(CHUNK):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                await self._take(line)
            for follower in tuple(self._followers):
                follower.wake()

    async def _take(self, line: bytes) -> None:
        match read_line(line):
            case None:
                return
            case Opened() as opened:
                history = await to_thread.run_sync(read_records, Path(opened.folder))
                for record in history:
                    if record.seq <= opened.last_seq:
                        self._add(record)
                self._opened = opened
                self._is_open.set()
            case Failed() as failed:
                self._failure = failed.exception()
                self._is_open.set()
            case Trouble() as trouble:
                self.trouble = trouble
            case Closed():
                return
            case record:
                self._add(record)

    def _add(self, record: Record) -> None:
        self._records.append(record)
        self._seqs.append(record.seq)

    def _end(self) -> None:
        if self._opened is None and self._failure is None:
            words = self._handle.last_words().splitlines()
            last = words[-1] if words else "no message"
            self._failure = TuiAgentError(
                f"The engine's process ended: {last}.", hint="tui-agent doctor looks why."
            )
        self._is_open.set()
        self._ended.set()
        for follower in tuple(self._followers):
            follower.wake()

    def last_words(self) -> str:
        """The end of what the engine wrote to standard error, for an error report."""
        return self._handle.last_words()

    async def aclose(self) -> None:
        """Close in order: the engine stops the turn, stores the end and lets go. Bounded; then it is killed."""
        self.submit(Close())
        with anyio.move_on_after(CLOSE_SECONDS):
            await self._ended.wait()
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(self._handle.close, 1.0)
