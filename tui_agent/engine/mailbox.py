"""The mailbox of incoming commands, and the user's answers that tasks wait for.

Invariant: `put` never blocks and never fails. Answers are delivered as values and not stored.
"""

from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

import anyio

from tui_agent.protocol.commands import Command
from tui_agent.protocol.ids import RequestId

AnswerT = TypeVar("AnswerT")


class Mailbox:
    """A queue of commands for one reader on the same event loop."""

    def __init__(self) -> None:
        self._commands: deque[Command] = deque()
        self._has_news = anyio.Event()
        self._closed = False

    def put(self, command: Command) -> None:
        """Queue a command. After `close`, the command is dropped."""
        if not self._closed:
            self._commands.append(command)
            self._has_news.set()

    async def commands(self) -> AsyncIterator[Command]:
        """Yield every command until `close`."""
        while True:
            while self._commands:
                yield self._commands.popleft()
            if self._closed:
                return
            # No await between the check above and this line, so no command is missed.
            self._has_news = anyio.Event()
            await self._has_news.wait()

    def close(self) -> None:
        """Stop accepting commands. Commands already queued are still delivered."""
        self._closed = True
        self._has_news.set()


class PendingAnswers(Generic[AnswerT]):
    """The tasks that wait for a user's answer, keyed by the id of their request."""

    def __init__(self) -> None:
        self._events: dict[RequestId, anyio.Event] = {}
        self._answers: dict[RequestId, AnswerT] = {}

    def __contains__(self, request_id: object) -> bool:
        return request_id in self._events and request_id not in self._answers

    def answer(self, request_id: RequestId, answer: AnswerT) -> bool:
        """Deliver an answer. Return False if no task waits for it."""
        if request_id not in self:
            return False
        self._answers[request_id] = answer
        self._events[request_id].set()
        return True

    async def wait(self, request_id: RequestId) -> AnswerT:
        """Wait for the answer to `request_id`. After a cancellation, a late answer is refused."""
        event = self._events[request_id] = anyio.Event()
        try:
            await event.wait()
            return self._answers[request_id]
        finally:
            self._events.pop(request_id, None)
            self._answers.pop(request_id, None)
