"""Middleware: named pieces that contribute context and wrap model and tool calls, in registered order.

Invariant: no memory of its own across calls: whatever matters is an event, and comes back by the folds.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from tui_agent.folds.session.fold import SessionStateView
from tui_agent.ports.model import ModelNext, ModelReply, ModelRequest
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.context import SectionName
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.parts import ToolCallPart


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of the system prompt or context. Lower `priority` numbers come first; `max_tokens` caps it.

    Without a text it is not sent, and `missing` tells in the manifest why. Nor is one that `joined` the conversation with
    the message of that event, as long as the history has it.
    """

    id: str
    text: str
    section: SectionName = "system"
    priority: int = 100
    max_tokens: int | None = None
    missing: str = ""
    joined: int | None = None


@dataclass(frozen=True, slots=True)
class TurnContext:
    """A turn's edges, as a middleware sees them. `emit` appends an event under the running agent."""

    turn: int
    state: SessionStateView
    emit: Callable[[Payload], None]
    reason: TurnEnd | None = None
    kind: Literal["start", "end"] = "start"


ToolNext: TypeAlias = Callable[[ToolCallPart], Awaitable[ToolResult]]


class Middleware(Protocol):
    """All methods have a do-nothing form in `plugin_api.BaseMiddleware`."""

    @property
    def name(self) -> str: ...

    async def on_turn_start(self, turn: TurnContext) -> None: ...

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]: ...

    async def wrap_model(self, request: ModelRequest, nxt: ModelNext) -> ModelReply: ...

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult: ...

    async def on_turn_end(self, turn: TurnContext) -> None: ...
