"""The hub's seam: an agent turns state into an action, once an iteration. Agents never append events."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tui_agent.folds.session.fold import SessionStateView
from tui_agent.ports.model import ModelReply
from tui_agent.protocol.messages import Message
from tui_agent.protocol.parts import ToolCallPart


@dataclass(frozen=True, slots=True)
class CallTools:
    """Run these calls, in order; then another iteration."""

    calls: tuple[ToolCallPart, ...]


@dataclass(frozen=True, slots=True)
class SayMessage:
    """Say this and wait for the user: the turn ends. Empty when the words are already recorded as the answer."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Finish:
    """The task is done."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Reject:
    """The task cannot or should not be done."""

    reason: str


Action: TypeAlias = CallTools | SayMessage | Finish | Reject


@dataclass(frozen=True, slots=True)
class Ask:
    """What an agent asks a model: `messages` None means the session's own history as the middlewares pack it."""

    messages: tuple[Message, ...] | None = None
    system: str | None = None
    tools: tuple[str, ...] | None = None
    """Names of the tools to offer; None offers all that the session has."""
    max_tokens: int | None = None
    """Tokens of the answer at most; None: as many as the model's description allows."""


AskModel: TypeAlias = Callable[[Ask], Awaitable[ModelReply]]
"""Runs the middlewares' `wrap_model`, streams, retries and records model.*. Raises `ModelError` for good."""


class Agent(Protocol):
    """One agent of the hub. A new instance serves each task."""

    @property
    def name(self) -> str: ...

    async def step(self, state: SessionStateView, ask: AskModel) -> Action: ...
