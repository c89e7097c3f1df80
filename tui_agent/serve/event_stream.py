"""The server-sent events of one HTTP request.

Invariant: a client that does not read for `STALL_S` is disconnected; the session does not wait for it.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import anyio
from aiohttp import web

from tui_agent.protocol.envelope import Envelope
from tui_agent.serve.hosted_sessions import HostedSession
from tui_agent.serve.stream_events import StreamEvent, StreamTranslator, encode_event
from tui_agent.session.pending_commands import RunningPrompt

STALL_S: Final = 30.0
PING_S: Final = 15.0


class EventStream:
    """Sends a session's events that follow the event number `after`, until the turn of `prompt` or the session ends."""

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
        try:
            while batch := await follower.next_batch():
                for event in batch:
                    if not isinstance(event, Envelope):
                        continue
                    translated = await translator.translate(event)
                    if translated is not None:
                        self._last_name = translated[0]
                        if not await self._write(request, encode_event(translated, event.seq)):
                            return
                    if self._prompt is not None and self._has_ended(event):
                        await self._say_done(request, event.seq)
                        return
        finally:
            follower.close()

    def _has_ended(self, event: Envelope) -> bool:
        assert self._prompt is not None
        self._prompt.take(event)
        return self._prompt.done.is_set()

    async def _say_done(self, request: web.Request, seq: int) -> None:
        """Send the event `done` if it was not sent yet, because the command started no turn."""
        if self._last_name != "done":
            reason = "rejected" if self._prompt is not None and self._prompt.error else "finished"
            await self._write(request, encode_event(("done", {"reason": reason, "detail": ""}), seq))

    async def _ping(self, request: web.Request) -> None:
        """Send a comment from time to time, to notice that the client has disconnected."""
        while True:
            await anyio.sleep(PING_S)
            with suppress(ConnectionError):
                await self._write(request, b": ping\n\n")

    async def _write(self, request: web.Request, data: bytes) -> bool:
        """Send data; return False if the client does not read it. Raises `ConnectionError` if it has disconnected."""
        with anyio.move_on_after(self._stall_s) as scope:
            await self._response.write(data)
        if scope.cancelled_caught and request.transport is not None:
            request.transport.abort()
        return not scope.cancelled_caught
