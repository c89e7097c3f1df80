"""What a delegate is told beside its task, and what of the session's own middlewares it has.

Invariant: nothing of the conversation above it: its role, the workspace and the project's instructions.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tui_agent.folds.session.fold import SessionStateView
from tui_agent.ports.delegate import Role
from tui_agent.ports.middleware import Fragment, Middleware, ToolNext, TurnContext
from tui_agent.ports.model import ModelNext, ModelReply, ModelRequest
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent, ToolCallPart

LAST = (
    "[This is the last answer that you have in this subtask. Call no tool. Say what you found and did, what is done, and "
    "what is not.]"
)


class Brief:
    """The role as system prompt, the room of an answer, and a word before the last one."""

    name = "delegate"

    def __init__(self, role: Role, max_tokens: int, state: Callable[[], SessionStateView]) -> None:
        self._role = role
        self._max_tokens = max_tokens
        self._state = state

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Nothing: a delegate's work is no turn."""

    async def on_turn_end(self, turn: TurnContext) -> None:
        """Nothing: a delegate's work is no turn."""

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """The role, and where the delegate is."""
        return (
            Fragment(id=f"role.{self._role.name}", text=self._role.prompt, priority=100),
            Fragment(id="workspace", text=f"Workspace: {state.workspace}", priority=150),
        )

    async def wrap_model(self, request: ModelRequest, nxt: ModelNext) -> ModelReply:
        """Bound the answer; say so where it is the last. A summary of its history is no answer of its own."""
        if request.purpose != "answer":
            return await nxt(request)
        request = replace(request, max_tokens=min(request.max_tokens, self._max_tokens))
        state = self._state()
        limit = state.settings.budgets.max_iterations if state.settings is not None else None
        if limit is not None and 1 < limit <= state.local_iteration:
            word = UserMessage(content=(TextContent(text=LAST),), seq=state.seq, kind="passing")
            request = replace(request, messages=(*request.messages, word))
        return await nxt(request)

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult:
        """As it is."""
        return await nxt(call)


class Unheard:
    """A middleware of the session around a delegate's requests: of what it contributes only instructions are heard."""

    def __init__(self, inner: Middleware, *, instructions: bool) -> None:
        self._inner = inner
        self._instructions = instructions

    @property
    def name(self) -> str:
        """As it is."""
        return self._inner.name

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Nothing: a delegate's work is no turn."""

    async def on_turn_end(self, turn: TurnContext) -> None:
        """Nothing: a delegate's work is no turn."""

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """What the project's files say of how to work in it, where the delegate works."""
        if not self._instructions:
            return ()
        return [one for one in self._inner.contribute(state) if one.section == "instructions"]

    async def wrap_model(self, request: ModelRequest, nxt: ModelNext) -> ModelReply:
        """As it is."""
        return await self._inner.wrap_model(request, nxt)

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult:
        """As it is."""
        return await self._inner.wrap_tool(call, nxt)
