"""The open sessions of a server, each with one engine.

Invariant: clients that open the same session share its engine.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import TuiAgentError
from tui_agent.folds.session.approvals import Approvals
from tui_agent.folds.session.checkpoints import Checkpoints
from tui_agent.folds.session.fold import SessionState
from tui_agent.ports.session import OpenedNote, read_text_or_preview
from tui_agent.protocol.commands import Command
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.stored_text import LongText
from tui_agent.session.clock import RandomIds
from tui_agent.session.pending_commands import PendingCommand, PendingCommands
from tui_agent.session.remote_session import RemoteSession
from tui_agent.wiring.startup_context import load_startup_context

LINGER_S = 60.0
"""Seconds after which a session without clients is closed."""
SpawnSession = Callable[[SessionOptions], RemoteSession]
SESSION_ENDED = TuiAgentError("The session ended.", hint="To open the session, send the request again.")


class HostedSession:
    """An open session with its engine, and data that the server computes from the session's events, e.g.
    checkpoints.
    """

    def __init__(self, session: RemoteSession) -> None:
        self.session = session
        self.state = SessionState()
        self.approvals = Approvals()
        self.checkpoints = Checkpoints()
        self.calls: dict[CallId, ToolCalled] = {}
        """Maps call ids to tool calls without a result."""
        self.clients = 0
        self.last_seq = -1
        self.ready = anyio.Event()
        self.failure: TuiAgentError | None = None
        self._opened_note: OpenedNote | None = None
        self._pending = PendingCommands()

    @property
    def opened_note(self) -> OpenedNote:
        """The engine's message that the session is open. Use it only after `ready` is set."""
        assert self._opened_note is not None
        return self._opened_note

    async def run(self) -> None:
        """Serve the session and follow its events until it ends, then close it."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.session.serve)
            try:
                self._opened_note = await self.session.wait_until_open()
                await self._follow(self._opened_note.last_seq)
            except TuiAgentError as error:
                self.failure = error
            self.failure = self.failure or self.session.failure or SESSION_ENDED
            self.ready.set()
            self._pending.fail(self.failure)
            await self.session.aclose()  # also if the engine ended by itself: this reaps its process

    async def _follow(self, until: int) -> None:
        follower = self.session.follow()
        while batch := await follower.next_batch():
            for record in batch:
                self.last_seq = record.seq
                if isinstance(record, Envelope):
                    self._take(record)
            if self.last_seq >= until:
                self.ready.set()

    def _take(self, event: Envelope) -> None:
        self.state.apply(event)
        self.approvals.apply(event)
        self.checkpoints.apply(event)
        if isinstance(event.payload, ToolCalled):
            self.calls[event.payload.call_id] = event.payload
        elif isinstance(event.payload, ToolFinished):
            self.calls.pop(event.payload.call_id, None)
        self._pending.take(event)

    async def carry_out(self, command: PendingCommand) -> None:
        """Wait until a sent command is done. Raise the engine's error if the command is refused or the session ends."""
        await self._pending.wait_for(command, self.failure)

    async def read_text(self, text: LongText) -> str:
        """Return the full text of a `LongText`, or only its beginning if its blob is missing."""
        return await read_text_or_preview(self.session, text)

    async def submit(self, command: Command) -> None:
        """Send a command and wait for its first event. Raise the engine's error if the command is refused."""
        await self.carry_out(PendingCommand(self.session.submit(command)))


class HostedSessions:
    """All open sessions of a server."""

    def __init__(
        self,
        options: SessionOptions,
        group: TaskGroup,
        spawn: SpawnSession = RemoteSession.spawn,
        *,
        linger_s: float = LINGER_S,
    ) -> None:
        self._linger_s = linger_s
        self.options = options
        self._group = group
        self._spawn = spawn
        self._sessions: dict[str, HostedSession] = {}
        self._ids = RandomIds()
        self._issued: set[str] = set()

    @asynccontextmanager
    async def use(self, session_id: str | None, options: SessionOptions) -> AsyncIterator[HostedSession]:
        """Yield a session for one client, and open it if necessary. If the id is None, create a session.

        Raise the engine's error if the session cannot be opened.
        """
        session_id = session_id or self.issue_id()
        hosted = self._sessions.get(session_id)
        if hosted is None or hosted.failure is not None:
            own = replace(
                options, session=session_id, continue_latest=False, client="web", engine_socket=None
            )
            hosted = self._sessions[session_id] = HostedSession(self._spawn(own))
            self._group.start_soon(hosted.run)
        hosted.clients += 1
        try:
            await hosted.ready.wait()
            if hosted.failure is not None:
                raise hosted.failure
            yield hosted
        finally:
            hosted.clients -= 1
            if hosted.clients == 0:
                self._group.start_soon(self._close_unused, session_id, hosted)

    async def _close_unused(self, session_id: str, hosted: HostedSession) -> None:
        # A page that is loaded again comes back soon, and a running turn continues without clients.
        while hosted.clients == 0 and hosted.failure is None:
            await anyio.sleep(self._linger_s)
            if hosted.clients == 0 and not hosted.state.view().is_busy:
                await hosted.session.aclose()
                break
        if hosted.failure is not None and self._sessions.get(session_id) is hosted:
            del self._sessions[session_id]

    def find(self, session_id: str) -> HostedSession | None:
        """Return a session if it is open and ready, else None."""
        hosted = self._sessions.get(session_id)
        is_ready = hosted is not None and hosted.ready.is_set() and hosted.failure is None
        return hosted if is_ready else None

    def issue_id(self) -> str:
        """Return a new session id. The session is created at its first use."""
        session_id = self._ids.session()
        self._issued.add(session_id)
        return session_id

    async def latest_session_id(self) -> str | None:
        """Return the id of the newest session in the server's folder, or None if there is none."""
        newest = next(reversed(self._sessions), None)
        return newest or await to_thread.run_sync(_latest_session_id, self.options)

    async def exists(self, session_id: str) -> bool:
        """Return True if a session is open, stored or about to be created."""
        known = session_id in self._sessions or session_id in self._issued
        return known or await to_thread.run_sync(_is_stored, self.options, session_id)

    async def aclose(self) -> None:
        """Close all sessions."""
        async with anyio.create_task_group() as group:
            for hosted in self._sessions.values():
                group.start_soon(hosted.session.aclose)


def _latest_session_id(options: SessionOptions) -> str | None:
    return load_startup_context(options).store.latest_session_id(str(options.cwd))


def _is_stored(options: SessionOptions, session_id: str) -> bool:
    folders = load_startup_context(options).store.folders()
    return any(folder.name == session_id for folder in folders)
