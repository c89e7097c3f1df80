"""Middleware: named components that add context to model requests, and wrap model calls and tool calls.

Invariant: a middleware keeps no state between calls.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.model import ModelNext, ModelReply, ModelRequest
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.events.context import SectionName
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.parts import ToolCallPart


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of the system prompt or context that a middleware contributes.

    - `priority`: position. Lower numbers come first.
    - `max_tokens`: limit for the length.
    - `missing_reason`: reason for an empty `text`, for the event `context.packed`.
    - `joined_seq`: event of a message that already contains the text. The fragment is not sent again while this
      message is in the history.
    """

    id: str
    text: str
    section: SectionName = "system"
    priority: int = 100
    max_tokens: int | None = None
    missing_reason: str = ""
    joined_seq: int | None = None


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The start or end of a turn: the argument of `Middleware.on_turn_start` and `on_turn_end`.

    `emit`: appends an event to the log. The event's author is the running agent.
    """

    turn: int
    state: SessionStateView
    emit: Callable[[Payload], None]
    reason: TurnEnd | None = None
    kind: Literal["start", "end"] = "start"


ToolNext: TypeAlias = Callable[[ToolCallPart], Awaitable[ToolResult]]


class Middleware(Protocol):
    """A component that wraps model calls and tool calls."""

    @property
    def name(self) -> str: ...

    async def on_turn_start(self, turn: TurnContext) -> None: ...

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]: ...

    async def wrap_model(self, request: ModelRequest, call_next: ModelNext) -> ModelReply: ...

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult: ...

    async def on_turn_end(self, turn: TurnContext) -> None: ...
