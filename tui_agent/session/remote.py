"""A session whose engine runs in a process of its own; what the app drives.

Invariant: history is read from the log's file up to the seq that the engine says is stored, and everything after it
comes through the pipe: without a gap and without a repetition.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path

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
from tui_agent.session.remote_follower import RemoteFollower
from tui_agent.session.wire import Closed, Failed, Held, Opened, Trouble, command_line, read_line
from tui_agent.store.fold_cache import kept
from tui_agent.store.lineage import blobs_of
from tui_agent.store.reader import read_end, read_tail

CLOSE_SECONDS = 3.0
CHUNK = 256 * 1024
STANDING_BYTES = 16 * 1024
"""Of a log's end that are read to tell how far it goes."""
KEEP = 2_000
"""Live records that stay in memory though everyone has seen them; older ones are in the log's file."""


class RemoteSession:
    """The facade over an engine's process, for one event loop. `serve` must run for anything to move.

    `named` is the folder of the session that the options name, where they name one: its log can be looked at before
    the engine has taken hold of it.
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
        """The newest thing that the engine could not store."""

    @classmethod
    def spawn(cls, options: SessionOptions, *, named: Path | None = None) -> "RemoteSession":
        """Start the engine's process and return at once; `opened` waits for it."""
        return cls(EngineHandle.start(options), named=named)

    @property
    def id(self) -> SessionId:
        """The session's id; empty before it is open."""
        return SessionId(self._opened.session if self._opened is not None else "")

    @property
    def closed(self) -> bool:
        """The engine is gone; nothing new comes."""
        return self._ended.is_set()

    async def held(self) -> Held | None:
        """Wait until its log can be read: at once where its folder is named and there, else when the engine has its
        lock. None when that failed.
        """
        if not self._is_held.is_set() and self._named is not None:
            standing = await to_thread.run_sync(_standing, self._named)
            if standing is not None:
                self._readable(standing)
                return standing
        await self._is_held.wait()
        return self._held

    def _readable(self, held: Held) -> None:
        """Followers can read the file so far before the engine has the session."""
        if self._opened is None:
            self._kept_from = max(self._kept_from, held.last_seq + 1)

    async def kept(self) -> tuple[int, Outline] | None:
        """Of the fold that is kept beside the log what a screen begins with, and the event after which it stands; None where
        there is none."""
        folder = await self.folder()
        found = None if folder is None else await to_thread.run_sync(kept, folder, FORMAT)
        outline = None if found is None else await to_thread.run_sync(outlined, found[1])
        return None if found is None or outline is None else (found[0].seq, outline)

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

    def follow(self, after: int = -1) -> RemoteFollower:
        """History from `after`, then live."""
        follower = RemoteFollower(self, after)
        self._followers.add(follower)
        return follower

    @property
    def kept_from(self) -> int:
        """The seq from which on records are in memory (for followers)."""
        return self._kept_from

    async def folder(self) -> Path | None:
        """The session's folder, once it is held; None when that failed."""
        held = await self.held()
        return None if held is None else Path(held.folder)

    def next_after(self, seq: int, limit: int) -> Sequence[Record]:
        """Records behind `seq` that are in memory (for followers); what every follower has seen is let go of."""
        start = max(0, seq + 1 - self._kept_from)
        found = list(islice(self._records, start, start + limit))
        seen = min((follower.cursor for follower in self._followers), default=seq)
        while len(self._records) > KEEP and self._kept_from <= seen:
            self._records.popleft()
            self._kept_from += 1
        return found

    def drop(self, follower: RemoteFollower) -> None:
        """A follower has stopped."""
        self._followers.discard(follower)

    async def tail(self, count: int) -> Sequence[Record]:
        """The newest records of the log as it is held, of which `count` tell of more than an opening: for a first look."""
        folder = await self.folder()
        return () if folder is None else await to_thread.run_sync(read_end, folder, count)

    async def read_blob(self, blob_sha256: str) -> bytes:
        """A blob's bytes, from the session's folder. Raises `BlobMissing`."""
        opened = await self.opened()
        return await to_thread.run_sync(blobs_of(Path(opened.folder)).read, blob_sha256)

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
                self._take(line)
            for follower in tuple(self._followers):
                follower.wake()

    def _take(self, line: bytes) -> None:
        match read_line(line):
            case None:
                return
            case Held() as held:
                self._held = held
                self._readable(held)
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

    def _end(self) -> None:
        if self._opened is None and self._failure is None:
            words = self.last_words().splitlines()
            last = words[-1] if words else "no message"
            self._failure = TuiAgentError(
                f"The engine's process ended: {last}.", hint="tui-agent doctor looks why."
            )
        self._is_held.set()
        self._is_open.set()
        self._ended.set()
        for follower in tuple(self._followers):
            follower.wake()

    def last_words(self) -> str:
        """The end of what the engine wrote to standard error, without secrets."""
        # By name: what looks for secrets takes 30 ms to load, and only an engine that failed has such words.
        clean: Callable[..., str] = import_module("tui_agent.session.fault_redaction").without_secrets
        return clean(self._handle.last_words(), os.environ, Path.cwd())

    async def aclose(self) -> None:
        """Close in order: the engine stops the turn, stores the end and lets go. Bounded; then it is killed."""
        self.submit(Close())
        with anyio.move_on_after(CLOSE_SECONDS):
            await self._ended.wait()
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(self._handle.close, 1.0)


def _standing(folder: Path) -> Held | None:
    """What stands in a log that nobody may hold yet; None where there is none, or its last line is too long to tell."""
    try:
        last = read_tail(folder, 1, max_bytes=STANDING_BYTES)
    except OSError:
        return None
    return Held(folder.name, str(folder), last[-1].seq) if last else None
