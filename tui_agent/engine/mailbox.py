"""The mailbox of incoming commands, and the user's answers that tasks wait for.

Invariant: `post` never blocks and never fails.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from tui_agent.protocol.ids import RequestId

AnswerT = TypeVar("AnswerT")


ItemT = TypeVar("ItemT")


class Mailbox(Generic[ItemT]):
    """A queue of commands for one reader on the same event loop."""

    def __init__(self) -> None:
        self._commands: asyncio.Queue[ItemT | None] = asyncio.Queue()
        self._closed = False

    def post(self, command: ItemT) -> None:
        """Queue a command, or drop it after `close`."""
        if not self._closed:
            self._commands.put_nowait(command)

    async def commands(self) -> AsyncIterator[ItemT]:
        """Yield every command until `close`."""
        while (command := await self._commands.get()) is not None:
            yield command

    def close(self) -> None:
        """Stop accepting commands."""
        self._closed = True
        self._commands.put_nowait(None)


class PendingAnswers(Generic[AnswerT]):
    """The tasks that wait for a user's answer, keyed by the id of their request."""

    def __init__(self) -> None:
        self._futures: dict[RequestId, asyncio.Future[AnswerT]] = {}

    def __contains__(self, request_id: RequestId) -> bool:
        return request_id in self._futures and not self._futures[request_id].done()

    def answer(self, request_id: RequestId, answer: AnswerT) -> bool:
        """Deliver an answer to the waiting task, or return False if no task waits for it."""
        if request_id not in self:
            return False
        self._futures[request_id].set_result(answer)
        return True

    async def wait(self, request_id: RequestId) -> AnswerT:
        """Wait for the answer to `request_id`."""
        future: asyncio.Future[AnswerT] = asyncio.get_running_loop().create_future()
        self._futures[request_id] = future
        try:
            return await future
        finally:
            del self._futures[request_id]
