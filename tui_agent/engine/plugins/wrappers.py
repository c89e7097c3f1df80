"""Wrappers for the middlewares and agents of plugins.

Invariant: after its first error, a plugin's middleware is not called again in the session.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from tui_agent.engine.plugins.error_guard import EventCheck, guard_plugin
from tui_agent.engine.plugins.forced_stop import stop_though_shielded
from tui_agent.errors import PluginError
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.agent import Action, Agent, AskModel, CallTools, Finish, Reject, SayMessage
from tui_agent.ports.middleware import Fragment, Middleware, ToolNext, TurnContext
from tui_agent.ports.model import ModelNext, ModelReply, ModelRequest
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.parts import ToolCallPart

WrappedT = TypeVar("WrappedT")
AnswerT = TypeVar("AnswerT")


class _MiddlewareFault(PluginError):
    """An error in the middleware's own code, not in code that it calls."""


class GuardedMiddleware:
    """Wraps a plugin's middleware. After the middleware's first error, reports the error and never calls it again."""

    def __init__(self, owner: str, middleware: Middleware, report: Callable[[PluginFailed], object]) -> None:
        self.name = middleware.name
        self._owner = owner
        self._middleware = middleware
        self._report = report
        self._is_active = True

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the middleware's texts for the prompt."""
        if not self._is_active:
            return ()
        try:
            with guard_plugin(self._label("contribute"), _MiddlewareFault):
                fragments = tuple(self._middleware.contribute(state))
                for fragment in fragments:
                    _expect(fragment, Fragment, "a Fragment")
        except _MiddlewareFault as fault:
            self._leave_out(fault)
            return ()
        return fragments

    async def wrap_model(self, request: ModelRequest, call_next: ModelNext) -> ModelReply:
        """Send a request through the middleware."""
        return await self._wrap("wrap_model", self._middleware.wrap_model, request, call_next, ModelReply)

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
        """Run a call through the middleware."""
        return await self._wrap("wrap_tool", self._middleware.wrap_tool, call, call_next, ToolResult)

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Tell the middleware that a turn starts."""
        await self._notify("on_turn_start", self._middleware.on_turn_start, turn)

    async def on_turn_end(self, turn: TurnContext) -> None:
        """Tell the middleware that a turn has ended."""
        await self._notify("on_turn_end", self._middleware.on_turn_end, turn)

    async def _wrap(
        self,
        method: str,
        wrap: Callable[[WrappedT, Callable[[WrappedT], Awaitable[AnswerT]]], Awaitable[AnswerT]],
        wrapped: WrappedT,
        call_next: Callable[[WrappedT], Awaitable[AnswerT]],
        answer_type: type[AnswerT],
    ) -> AnswerT:
        if not self._is_active:
            return await call_next(wrapped)
        inner: list[AnswerT] = []

        async def call_and_keep(changed: WrappedT) -> AnswerT:
            inner.append(await call_next(changed))
            return inner[-1]

        try:
            with guard_plugin(self._label(method), _MiddlewareFault):
                answer = await stop_though_shielded(wrap(wrapped, call_and_keep))
                _expect(answer, answer_type, f"a {answer_type.__name__}")
        except _MiddlewareFault as fault:
            self._leave_out(fault)
            # The request or the call must not run a second time if the middleware failed after it.
            return inner[-1] if inner else await call_next(wrapped)
        return answer

    async def _notify(
        self, method: str, notify: Callable[[TurnContext], Awaitable[None]], turn: TurnContext
    ) -> None:
        check = EventCheck(self._owner)

        def emit(event: Payload) -> None:
            check.check(event)
            turn.emit(event)

        if not self._is_active:
            return
        try:
            with guard_plugin(self._label(method), _MiddlewareFault):
                await stop_though_shielded(notify(replace(turn, emit=emit)))
        except _MiddlewareFault as fault:
            self._leave_out(fault)

    def _label(self, method: str) -> str:
        return f"`{method}`"

    def _leave_out(self, fault: PluginError) -> None:
        self._is_active = False
        message = f"{fault.message}. This session no longer uses this middleware."
        part = f"middleware {self.name}"
        self._report(PluginFailed(plugin=self._owner, message=message, part=part))


def _expect(value: object, expected: type | tuple[type, ...], name: str) -> None:
    if not isinstance(value, expected):
        raise PluginError(f"it returned {type(value).__name__} instead of {name}")


class GuardedAgent:
    """Wraps a plugin's agent. The agent's errors end the turn as `PluginError`."""

    def __init__(self, owner: str, name: str, make: Callable[[], Agent]) -> None:
        self.name = name
        self._label = f"The agent {name} (plugin {owner})"
        with guard_plugin(self._label, PluginError):
            self._agent = make()

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        """Return the agent's next action."""
        with guard_plugin(self._label, PluginError):
            action = await stop_though_shielded(self._agent.step(state, ask))
            _expect(action, (CallTools, SayMessage, Finish, Reject), "an Action")
        return action
