"""A delegate's context besides its task: its role, and the session's middlewares as far as they apply.

Invariant: it gets nothing of the parent's conversation, only its role, the workspace and the project's instructions.
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
    "[This is your last answer in this subtask. Do not call tools. Report what you found, what you did, and what is not "
    "done.]"
)


class Brief:
    """A middleware with the role as system prompt, a limit for each answer, and a note before the last answer."""

    name = "delegate"

    def __init__(self, role: Role, max_tokens: int, state: Callable[[], SessionStateView]) -> None:
        self._role = role
        self._max_tokens = max_tokens
        self._state = state

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Do nothing: a delegate's work is not a turn."""

    async def on_turn_end(self, turn: TurnContext) -> None:
        """Do nothing: a delegate's work is not a turn."""

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the role's prompt and the workspace."""
        return (
            Fragment(id=f"role.{self._role.name}", text=self._role.prompt, priority=100),
            Fragment(id="workspace", text=f"Workspace: {state.workspace}", priority=150),
        )

    async def wrap_model(self, request: ModelRequest, nxt: ModelNext) -> ModelReply:
        """Limit the answer, and add a note if it is the last. Requests for a summary pass unchanged."""
        if request.purpose != "answer":
            return await nxt(request)
        request = replace(request, max_tokens=min(request.max_tokens, self._max_tokens))
        state = self._state()
        limit = state.settings.budgets.max_iterations if state.settings is not None else None
        if limit is not None and 1 < limit <= state.local_iteration:
            note = UserMessage(content=(TextContent(text=LAST),), seq=state.seq, kind="passing")
            request = replace(request, messages=(*request.messages, note))
        return await nxt(request)

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult:
        """Run the call unchanged."""
        return await nxt(call)


class Unheard:
    """A middleware of the session around a delegate's calls. Of its fragments only instructions are used."""

    def __init__(self, inner: Middleware, *, instructions: bool) -> None:
        self._inner = inner
        self._instructions = instructions

    @property
    def name(self) -> str:
        """The name of the wrapped middleware."""
        return self._inner.name

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Do nothing: a delegate's work is not a turn."""

    async def on_turn_end(self, turn: TurnContext) -> None:
        """Do nothing: a delegate's work is not a turn."""

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the project's instructions; nothing for a read-only role."""
        if not self._instructions:
            return ()
        return [fragment for fragment in self._inner.contribute(state) if fragment.section == "instructions"]

    async def wrap_model(self, request: ModelRequest, nxt: ModelNext) -> ModelReply:
        """Call the wrapped middleware."""
        return await self._inner.wrap_model(request, nxt)

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult:
        """Call the wrapped middleware."""
        return await self._inner.wrap_tool(call, nxt)
