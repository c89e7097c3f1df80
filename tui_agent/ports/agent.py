"""The agent protocol: an agent chooses one action per iteration, from the state of the session.

Invariant: an agent never appends events.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.model import ModelReply
from tui_agent.protocol.messages import Message
from tui_agent.protocol.parts import ToolCallPart


@dataclass(frozen=True, slots=True)
class CallTools:
    """An action: run these tool calls in order, then start another iteration."""

    calls: tuple[ToolCallPart, ...]


@dataclass(frozen=True, slots=True)
class SayMessage:
    """An action: end the turn with this message and wait for the user.

    `text` is empty if the log already has the agent's message.
    """

    text: str = ""


@dataclass(frozen=True, slots=True)
class Finish:
    """An action: end the turn because the task is done."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Reject:
    """An action: end the turn because the task cannot or should not be done."""

    reason: str


Action: TypeAlias = CallTools | SayMessage | Finish | Reject


@dataclass(frozen=True, slots=True)
class ModelQuery:
    """An agent's request to a model.

    If `messages` is None, the session's history is sent.
    """

    messages: tuple[Message, ...] | None = None
    system: str | None = None
    tools: tuple[str, ...] | None = None
    """Names of the tools to offer. None means all tools of the session."""
    max_tokens: int | None = None
    """Maximum tokens of the answer. None means the model's own maximum."""


AskModel: TypeAlias = Callable[[ModelQuery], Awaitable[ModelReply]]
"""Function that sends an agent's request to a model and returns the reply.

The function raises `ModelError` if the last retry fails too.
"""


class Agent(Protocol):
    """An agent, which chooses the next action in a session."""

    @property
    def name(self) -> str: ...

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Return the next action for this state of the session."""
        ...
