"""Commands on their way in, and people's answers on their way to whoever waits for them.

Invariant: putting never blocks and never fails; answers are values, so nothing here outlives its reader.
"""

from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

import anyio

from tui_agent.protocol.commands import Command
from tui_agent.protocol.ids import RequestId

AnswerT = TypeVar("AnswerT")


class Mailbox:
    """Commands in order of arrival, for one reader on the same event loop."""

    def __init__(self) -> None:
        self._commands: deque[Command] = deque()
        self._news = anyio.Event()
        self._closed = False

    def put(self, command: Command) -> None:
        """Enqueue; a command after `close` is dropped."""
        if not self._closed:
            self._commands.append(command)
            self._news.set()

    async def commands(self) -> AsyncIterator[Command]:
        """Every command until `close`."""
        while True:
            while self._commands:
                yield self._commands.popleft()
            if self._closed:
                return
            self._news = anyio.Event()  # nothing awaits between the look above and this line
            await self._news.wait()

    def close(self) -> None:
        """No command comes any more; those that are here still do."""
        self._closed = True
        self._news.set()


class Waiting(Generic[AnswerT]):
    """Those who wait for a person, by the id of what they asked."""

    def __init__(self) -> None:
        self._events: dict[RequestId, anyio.Event] = {}
        self._answers: dict[RequestId, AnswerT] = {}

    def __contains__(self, request_id: object) -> bool:
        return request_id in self._events and request_id not in self._answers

    def answer(self, request_id: RequestId, answer: AnswerT) -> bool:
        """Hand an answer over; False when nobody waits for it (any more)."""
        if request_id not in self:
            return False
        self._answers[request_id] = answer
        self._events[request_id].set()
        return True

    async def wait(self, request_id: RequestId) -> AnswerT:
        """Wait for the answer to `request_id`. Cancellable; then a late answer is refused."""
        event = self._events[request_id] = anyio.Event()
        try:
            await event.wait()
            return self._answers[request_id]
        finally:
            self._events.pop(request_id, None)
            self._answers.pop(request_id, None)
