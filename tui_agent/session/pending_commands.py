"""Commands that a client waits for, such as a prompt or a change of a setting."""

from typing import Final

import anyio

from tui_agent.errors import TuiAgentError, UsageError
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.model import FinishReason, ModelResponded
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.slash_command import CommandRan
from tui_agent.protocol.events.turn import TurnEnd, TurnFinished, UserMessageReceived, UserQueued
from tui_agent.protocol.ids import MAIN_AGENT, CommandId, RequestId
from tui_agent.protocol.settings import AgentState

_FAILURES: Final[frozenset[TurnEnd]] = frozenset({"model_error", "error"})


class PendingCommand:
    """A command sent to the session. `done` is set at the command's first event or failure.

    If the session refuses the command, `error` is a `UsageError`.
    """

    def __init__(self, command_id: CommandId) -> None:
        self.command_id = command_id
        self.error: TuiAgentError | None = None
        self.done = anyio.Event()

    def take(self, event: Envelope) -> None:
        """Process the session's next event."""
        if event.cause != self.command_id:
            return
        if isinstance(event.payload, CommandRejected):
            self.fail(UsageError(event.payload.reason, hint=event.payload.hint))
        else:
            self.done.set()

    def fail(self, error: TuiAgentError) -> None:
        """End the command with an error."""
        self.error = error
        self.done.set()


class PendingCommands:
    """The commands of one session that clients wait for."""

    def __init__(self) -> None:
        self._commands: list[PendingCommand] = []

    def take(self, event: Envelope) -> None:
        """Pass the session's next event to each command."""
        for command in self._commands:
            command.take(event)

    def fail(self, error: TuiAgentError) -> None:
        """End each command with an error, because the session has ended."""
        for command in self._commands:
            command.fail(error)

    async def wait_for(self, command: PendingCommand, failure: TuiAgentError | None) -> None:
        """Wait until a sent command is done. Raise an error if the command is refused or the session ends.

        `failure`: the session's error if the session has already ended.
        """
        # The command is in the list before the first await, so that no event of it is missed.
        self._commands.append(command)
        if failure is not None:
            command.fail(failure)
        try:
            await command.done.wait()
        finally:
            self._commands.remove(command)
        if command.error is not None:
            raise command.error


class SettledCommand(PendingCommand):
    """A command that was sent. `done` is set when the agent is idle again, or when the command is refused."""

    def take(self, event: Envelope) -> None:
        """Process the session's next event."""
        match event.payload:
            case CommandRejected():
                super().take(event)
            case AgentStateChanged(state=AgentState.IDLE):
                super().take(event)
            case _:
                pass


class RunningPrompt(PendingCommand):
    """A message that was sent. `done` is set when the turn of the message has ended.

    - `reason`, `detail`: why the turn ended.
    - `finish`: finish reason of the turn's last answer.
    """

    def __init__(self, command_id: CommandId, *, is_begun: bool = False) -> None:
        """Create a running prompt.

        `is_begun`: True if the turn is already running, for example if the command answers a question of the turn.
        """
        super().__init__(command_id)
        self.detail = ""
        self._queue_id: RequestId | None = None
        self._is_begun = is_begun
        self.finish: FinishReason = "stop"
        self.reason: TurnEnd = "finished"

    def take(self, event: Envelope) -> None:
        """Process the session's next event."""
        payload, is_own = event.payload, event.cause == self.command_id
        match payload:
            case UserQueued(queue_id=queue_id) if is_own:
                self._queue_id = queue_id
            case CommandRejected() | CommandRan(sends=False) if is_own:
                super().take(event)
            case AgentStateChanged(state=AgentState.IDLE) if (
                is_own
            ):  # a command without a turn, such as /undo
                super().take(event)
            case UserMessageReceived(queue_id=queue_id) if (
                queue_id is not None and queue_id == self._queue_id
            ):
                self._is_begun = True
            case _ if is_own and self._queue_id is None:  # no turn was running, so the message was not queued
                self._is_begun = True
            case _:
                pass
        if self._is_begun and event.agent == MAIN_AGENT:
            self._follow_turn(event)

    def _follow_turn(self, event: Envelope) -> None:
        match event.payload:
            case ModelResponded(finish=finish):
                self.finish = finish
            case TurnFinished(reason=reason, detail=detail):
                self.reason, self.detail = reason, detail
                if reason in _FAILURES:
                    self.fail(TuiAgentError(detail or f"The turn ended: {reason}."))
                self.done.set()
            case _:
                pass
