"""The HTTP interface: chat, events, task lists, checkpoints, revert and fork, as JSON and server-sent events.

Invariant: a client that does not read for `STALL_S` is disconnected.
"""

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeVar

import anyio
from aiohttp import web
from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tui_agent.errors import SessionLocked, TuiAgentError
from tui_agent.protocol.commands import (
    AnswerQuestion,
    Command,
    ContinueTurn,
    DecidePermission,
    Revert,
    SetModel,
    SubmitPrompt,
)
from tui_agent.protocol.envelope import Envelope, known_events
from tui_agent.serve.hosted_sessions import SESSION_ENDED, HostedSession, HostedSessions
from tui_agent.serve.stream_events import StreamEvent, StreamTranslator, encode_event, todo_event
from tui_agent.session.fork_workspace import load_state
from tui_agent.session.pending_commands import RunningPrompt, SettledCommand
from tui_agent.tui.cli_client import CommandLine, json_rows, non_json_text
from tui_agent.wiring.startup_context import load_startup_context

STALL_S: Final = 30.0
"""Seconds after which a client that does not read is disconnected."""
PING_S: Final = 15.0
"""Seconds between two comments in a stream of events."""


class EventStream:
    """Sends the events after number `after` to a client. With `prompt`, the stream stops at the end of the prompt's
    turn."""

    def __init__(
        self,
        hosted: HostedSession,
        after: int,
        prompt: RunningPrompt | None = None,
        *,
        stall_s: float = STALL_S,
    ) -> None:
        self._hosted = hosted
        self._after = after
        self._prompt = prompt
        self._stall_s = stall_s
        self._response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        self._last_name = ""

    async def serve(self, request: web.Request, first: Sequence[StreamEvent] = ()) -> web.StreamResponse:
        """Send the events `first`, then the session's events; return the response to the request."""
        await self._response.prepare(request)
        with suppress(ConnectionError):
            async with anyio.create_task_group() as group:
                group.start_soon(self._ping, request)
                if all([await self._write(request, encode_event(event, self._after)) for event in first]):
                    await self._follow(request)
                group.cancel_scope.cancel()
        return self._response

    async def _follow(self, request: web.Request) -> None:
        follower = self._hosted.session.follow(self._after)
        translator = StreamTranslator(self._hosted.read_text, self._hosted.calls)
        last_seq = self._after
        try:
            while batch := await follower.next_batch():
                for event in known_events(batch):
                    last_seq = event.seq
                    translated = await translator.translate(event)
                    if translated is not None:
                        self._last_name = translated[0]
                        if not await self._write(request, encode_event(translated, event.seq)):
                            return
                    if self._prompt is not None and self._has_ended(event):
                        await self._say_done(request, event.seq)
                        return
            await self._say_session_ended(request, last_seq)
        finally:
            follower.close()

    def _has_ended(self, event: Envelope) -> bool:
        assert self._prompt is not None
        self._prompt.take(event)
        return self._prompt.done.is_set()

    async def _say_done(self, request: web.Request, seq: int) -> None:
        """Send the event `done`, unless the last sent event was `done`."""
        if self._last_name != "done":
            reason = "rejected" if self._prompt is not None and self._prompt.error else "finished"
            await self._write(request, encode_event(("done", {"reason": reason, "detail": ""}), seq))

    async def _say_session_ended(self, request: web.Request, seq: int) -> None:
        """Send the event `error`, and `done` if a turn was running."""
        message = str(self._hosted.session.failure or SESSION_ENDED)
        is_sent = await self._write(request, encode_event(("error", {"message": message}), seq))
        if is_sent and (self._prompt is not None or self._hosted.state.view().turn_running):
            await self._write(request, encode_event(("done", {"reason": "error", "detail": message}), seq))

    async def _ping(self, request: web.Request) -> None:
        """Send a comment from time to time, to notice that the client has disconnected."""
        while True:
            await anyio.sleep(PING_S)
            with suppress(ConnectionError):
                await self._write(request, b": ping\n\n")

    async def _write(self, request: web.Request, data: bytes) -> bool:
        """Send data. Return False if the client does not read it."""
        with anyio.move_on_after(self._stall_s) as scope:
            await self._response.write(data)
        if scope.cancelled_caught and request.transport is not None:
            # Closing would wait until the client has read the rest.
            request.transport.abort()
        return not scope.cancelled_caught


class RequestBody(BaseModel):
    """Base class of the JSON objects in requests."""

    model_config = ConfigDict(extra="forbid")


class ChatBody(RequestBody):
    """The body of a chat request. Without a session id, the server's newest session is used."""

    message: str = Field(min_length=1)
    sessionId: str | None = None
    model: str | None = None


class SessionBody(RequestBody):
    """The body of a request about a session."""

    sessionId: str


class CheckpointBody(SessionBody):
    """The body of a request about a checkpoint. A checkpoint's id is the number of its event."""

    checkpointId: int


BodyT = TypeVar("BodyT", bound=RequestBody)


class HttpApi:
    """Handles the requests below `/api`."""

    def __init__(self, sessions: HostedSessions, *, stall_s: float = STALL_S) -> None:
        self._sessions = sessions
        self._stall_s = stall_s

    def routes(self) -> list[web.RouteDef]:
        """Return all routes below `/api`."""
        return [
            web.post("/api/chat", self._chat),
            web.get("/api/events/{session}", self._events),
            web.post("/api/approve", self._approve),
            web.get("/api/todos/{session}", self._todos),
            web.get("/api/checkpoints/{session}", self._checkpoints),
            web.post("/api/revert", self._revert),
            web.post("/api/fork", self._fork),
        ]

    @asynccontextmanager
    async def _open(self, session_id: str | None, *, new: bool = False) -> AsyncIterator[HostedSession]:
        """Open a session for one request, or respond with an HTTP error."""
        if not new and (session_id is None or not await self._sessions.exists(session_id)):
            raise _error(404, f"There is no session {session_id!r}.")
        try:
            async with self._sessions.use(session_id, self._sessions.options) as hosted:
                yield hosted
        except TuiAgentError as error:
            raise _error(409 if isinstance(error, SessionLocked) else 400, str(error)) from error

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await _read_body(request, ChatBody)
        session_id = body.sessionId or await self._sessions.latest_session_id()
        async with self._open(session_id, new=session_id is None) as hosted:
            settings = hosted.state.view().settings
            if body.model is not None and (settings is None or body.model != settings.model.profile):
                await hosted.submit(SetModel(model=body.model))
            return await self._stream_turn(request, hosted, SubmitPrompt(text=body.message))

    async def _stream_turn(
        self, request: web.Request, hosted: HostedSession, command: Command, *, is_begun: bool = False
    ) -> web.StreamResponse:
        """Send a command and stream its turn, beginning with the session's id and its task list."""
        after = (
            hosted.last_seq
        )  # read before the command is sent, so that the stream has the command's first event
        prompt = RunningPrompt(hosted.session.submit(command), is_begun=is_begun)
        session: StreamEvent = ("session", {"sessionId": hosted.session.id})
        todos = todo_event(hosted.state.view().todo)
        return await EventStream(hosted, after, prompt, stall_s=self._stall_s).serve(
            request, (session, todos)
        )

    async def _events(self, request: web.Request) -> web.StreamResponse:
        async with self._open(request.match_info["session"]) as hosted:
            last = request.headers.get("Last-Event-ID", "").strip()
            after = int(last) if last.isascii() and last.isdecimal() else hosted.last_seq
            return await EventStream(hosted, min(after, hosted.last_seq), stall_s=self._stall_s).serve(
                request
            )

    async def _approve(self, request: web.Request) -> web.StreamResponse:
        """Approve the plan or permission request that the agent waits for. If there is none, continue the turn."""
        body = await _read_body(request, SessionBody)
        async with self._open(body.sessionId) as hosted:
            waiting = hosted.approvals.view()
            command: Command = ContinueTurn()
            if waiting.permissions:
                request_id = waiting.permissions[0].request_id
                command = DecidePermission(request_id=request_id, decision="allow")
            elif waiting.questions:
                question = waiting.questions[0]
                if question.form not in ("plan", "stuck"):
                    raise _error(409, "The agent waits for an answer, not for approval.")
                command = AnswerQuestion(
                    question_id=question.question_id, answer=question.options[0], choice=0
                )
            is_begun = not isinstance(command, ContinueTurn)
            return await self._stream_turn(request, hosted, command, is_begun=is_begun)

    async def _todos(self, request: web.Request) -> web.StreamResponse:
        session_id = request.match_info["session"]
        hosted = self._sessions.find(session_id)
        if hosted is not None:
            items = hosted.state.view().todo
        elif await self._sessions.exists(session_id):
            folder = load_startup_context(self._sessions.options).store.folder(session_id)
            items = (await to_thread.run_sync(load_state, folder)).todo
        else:
            raise _error(404, f"There is no session {session_id!r}.")
        return web.json_response(todo_event(items)[1])

    async def _checkpoints(self, request: web.Request) -> web.StreamResponse:
        async with self._open(request.match_info["session"]) as hosted:
            rows = [
                {
                    "checkpointId": checkpoint.seq,
                    "turn": checkpoint.turn,
                    "files": [change.path for change in checkpoint.files],
                    "onBranch": checkpoint.on_branch,
                }
                for checkpoint in hosted.checkpoints.view()
            ]
        return web.json_response({"checkpoints": rows})

    async def _revert(self, request: web.Request) -> web.StreamResponse:
        body = await _read_body(request, CheckpointBody)
        async with self._open(body.sessionId) as hosted:
            _require_checkpoint(hosted, body)
            command = Revert(to_seq=body.checkpointId)
            await hosted.carry_out(SettledCommand(hosted.session.submit(command)))
        return web.json_response(body.model_dump())

    async def _fork(self, request: web.Request) -> web.StreamResponse:
        body = await _read_body(request, CheckpointBody)
        async with self._open(body.sessionId) as hosted:
            _require_checkpoint(hosted, body)
            run = CommandLine(self._sessions.options, os.environ)
            seq = str(body.checkpointId)
            status, output = await run("sessions", "fork", body.sessionId, "--at", seq, "--json")
            rows = json_rows(output)
        if status or not rows:
            raise _error(409, non_json_text(output) or "The fork was not created.")
        return web.json_response({"sessionId": rows[-1]["id"], "workspace": rows[-1]["workspace"]})


def _require_checkpoint(hosted: HostedSession, body: CheckpointBody) -> None:
    if body.checkpointId not in {checkpoint.seq for checkpoint in hosted.checkpoints.view()}:
        raise _error(404, f"The session has no checkpoint {body.checkpointId}.")


async def _read_body(request: web.Request, body_type: type[BodyT]) -> BodyT:
    """Return the JSON object in a request, or respond with an HTTP error."""
    if request.content_type != "application/json":
        raise _error(415, "Send application/json.")
    try:
        return body_type.model_validate_json(await request.read())
    except ValidationError as error:
        first = error.errors()[0]
        raise _error(400, f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}.") from error


def _error(status: int, message: str) -> web.HTTPException:
    reasons = {400: web.HTTPBadRequest, 404: web.HTTPNotFound, 409: web.HTTPConflict}
    raised = reasons.get(status, web.HTTPUnsupportedMediaType)
    return raised(text=json.dumps({"error": message}), content_type="application/json")
