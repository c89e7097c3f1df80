"""The Unix socket through which app processes use a server's engines.

Invariant: a client first gets the number of the log's last event, and then all later records, without gaps.
"""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import anyio
from anyio import TASK_STATUS_IGNORED
from anyio.abc import SocketStream, TaskGroup, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import TuiAgentError
from tui_agent.ports.session import LockedNote, OpenedNote
from tui_agent.protocol.commands import Close
from tui_agent.serve.hosted_sessions import HostedSession, HostedSessions
from tui_agent.session.wire import (
    LINE_LIMIT,
    ClosedNote,
    CompletionRequest,
    CompletionsNote,
    FailedNote,
    note_line,
    read_request,
    record_line,
)

STALL_S = 30.0
Send: TypeAlias = Callable[[bytes], Awaitable[bool]]
"""Function that sends data to a client. Returns False if the client does not read or has disconnected."""
_GONE: Final = (
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    anyio.DelimiterNotFound,
    anyio.IncompleteRead,
)


class EngineSocket:
    """Serves the sessions of a server to app processes."""

    def __init__(self, sessions: HostedSessions, *, stall_s: float = STALL_S) -> None:
        self._sessions = sessions
        self._stall_s = stall_s

    async def serve(self, path: Path, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
        """Listen at `path` until cancelled. Only this user can open the socket."""
        listener = await anyio.create_unix_listener(path, mode=0o600)
        async with listener:
            task_status.started()
            await listener.serve(self._serve_client)

    async def _serve_client(self, stream: SocketStream) -> None:
        lines = BufferedByteReceiveStream(stream)
        async with stream:
            try:
                first = await lines.receive_until(b"\n", LINE_LIMIT)
                options = SessionOptions.from_json(json.loads(first)["options"])
                async with self._sessions.use(options.session, options) as hosted:
                    await self._serve_session(hosted, stream, lines)
            except TuiAgentError as error:
                await self._send(stream, anyio.Lock(), note_line(FailedNote.from_exception(error)))
            except (*_GONE, ValueError, KeyError, TypeError):
                return  # the client disconnected, or is not an app process

    async def _serve_session(
        self, hosted: HostedSession, stream: SocketStream, lines: BufferedByteReceiveStream
    ) -> None:
        opened, session = hosted.opened_note, hosted.session
        stored = session.first_seq_in_memory - 1
        last = max(hosted.last_seq, stored)
        notes = (
            LockedNote(opened.session, opened.folder, stored),
            OpenedNote(opened.session, opened.folder, last, stored, opened.pid, opened.new),
        )
        send = partial(self._send, stream, anyio.Lock())
        if not await send(b"".join([note_line(note) for note in notes])):
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._send_records, hosted, stored, stream, send)
            await self._take_requests(hosted, send, lines, group)
            group.cancel_scope.cancel()
        await send(note_line(ClosedNote("done")))

    async def _take_requests(
        self, hosted: HostedSession, send: Send, lines: BufferedByteReceiveStream, group: TaskGroup
    ) -> None:
        with suppress(*_GONE):
            while True:
                request = read_request(await lines.receive_until(b"\n", LINE_LIMIT))
                if isinstance(request, Close):
                    return
                if isinstance(request, CompletionRequest):
                    group.start_soon(self._complete, hosted, request, send)
                elif request is not None:
                    hosted.session.submit(request)

    async def _complete(self, hosted: HostedSession, request: CompletionRequest, send: Send) -> None:
        texts = await hosted.session.complete(request.command, request.arguments)
        await send(note_line(CompletionsNote(request.id, texts)))

    async def _send_records(
        self, hosted: HostedSession, after: int, stream: SocketStream, send: Send
    ) -> None:
        follower = hosted.session.follow(after)
        try:
            while batch := await follower.next_batch():
                if not await send(b"".join(map(record_line, batch))):
                    break
        finally:
            follower.close()
        if hosted.session.failure is not None:
            await send(note_line(FailedNote.from_exception(hosted.session.failure)))
        await stream.aclose()

    async def _send(self, stream: SocketStream, lock: anyio.Lock, data: bytes) -> bool:
        """Send data. Return False if the client does not read it or has disconnected."""
        try:
            with anyio.move_on_after(self._stall_s) as scope:
                async with lock:
                    await stream.send(data)
        except _GONE:
            return False
        return not scope.cancelled_caught
