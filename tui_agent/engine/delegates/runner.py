"""Delegates: agents below another one, in the same log, with a context, a budget and an end of their own.

Invariant: `agent.spawned` is followed by exactly one `agent.finished`, and whoever delegated gets a report. A delegate
is allowed no tool but its own; it can neither ask the user nor end the turn.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import anyio

from tui_agent.context.truncation import head_and_tail
from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.cleanup import close_calls
from tui_agent.engine.components import EngineParts
from tui_agent.engine.delegates.brief import Brief, Unheard
from tui_agent.engine.loop import Outcome, TurnLoop
from tui_agent.engine.model.agent import ModelAgent
from tui_agent.engine.model.caller import ModelCaller
from tui_agent.engine.tools.tool_names import canonical
from tui_agent.errors import ConfigError, StoreError, ToolError
from tui_agent.folds.session.delegates import line_of
from tui_agent.ports.delegate import DelegateEnd, DelegateReport, Errand, Role
from tui_agent.ports.log import Blobs
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.messages import AssistantMessage, Message
from tui_agent.protocol.parts import TextPart, ToolCallPart
from tui_agent.protocol.settings import ModelInfo

FILE_TOOLS = ("read_file", "write_file", "edit_file", "list_directory", "glob", "grep")
"""What a delegate may use where neither the call nor its role says."""
CHARS_A_TOKEN = 4
MOST_LINES = 400
MOST_CALLS, CALL_CHARS = 5, 60
"""Of a delegate that never said a word so many calls are told, with so much of each."""
NOT_RUN = "the subtask ended first"

MakeCaller = Callable[[EngineParts, AgentId], ModelCaller]
MakeLoop = Callable[[EngineParts, ModelCaller, AgentId], TurnLoop]


@dataclass(frozen=True, slots=True)
class _Plan:
    """An errand, settled."""

    errand: Errand
    role: Role
    tools: tuple[str, ...]
    model: ModelInfo
    level: int
    iterations: int


class Delegating:
    """Runs the delegates of a session."""

    def __init__(
        self, parts: EngineParts, states: StateKeeper, make_caller: MakeCaller, make_loop: MakeLoop
    ) -> None:
        self._parts = parts
        self._states = states
        self._make_caller = make_caller
        self._make_loop = make_loop
        self._scopes: dict[AgentId, anyio.CancelScope] = {}
        self._rooms: dict[AgentId, anyio.Semaphore] = {}
        self.by: Literal["agent", "user"] = "agent"
        """Who wishes what is begun now."""

    def of_call(self, call_id: CallId, agent: AgentId) -> "DelegatesOfCall":
        """The service for one call of an agent."""
        return DelegatesOfCall(partial(self.run, call_id=call_id, parent=agent))

    def stop(self, agent: AgentId) -> bool:
        """End one delegate; who delegated goes on. False where it does not work (any more)."""
        scope = self._scopes.get(agent)
        if scope is None:
            return False
        self._states.resume()
        scope.cancel()
        return True

    def stop_call(self, call_id: CallId) -> bool:
        """End the delegate that a call waits for; False where there is none."""
        of_call = (one.agent for one in self._parts.recorder.state.delegates if one.call_id == call_id)
        return any(self.stop(agent) for agent in tuple(of_call))

    async def run(self, errand: Errand, *, call_id: CallId, parent: AgentId) -> DelegateReport:
        """Let a delegate work on an errand of `parent`, once there is room for it."""
        plan = self._planned(errand, parent)
        room = self._rooms.setdefault(parent, anyio.Semaphore(max(1, self._parts.delegation.parallel)))
        async with room:
            return await self._work(plan, call_id, parent)

    def _planned(self, errand: Errand, parent: AgentId) -> _Plan:
        rules, state = self._parts.delegation, self._parts.recorder.state_of(parent)
        level = state.delegate_level + 1
        if level > rules.depth:
            raise ToolError("A subtask cannot begin further subtasks.", hint="Do this part yourself.")
        role = rules.roles.get(errand.role)
        if role is None:
            known = ", ".join(rules.offered) or "none"
            raise ToolError(f"There is no agent {errand.role!r}.", hint=f"The named agents are: {known}.")
        if state.settings is None:
            raise ToolError("The session has no model.")
        try:
            model = (
                self._parts.resolve_model(role.model, "", None)
                if role.model and role.model != state.settings.model.profile
                else state.settings.model
            )
        except ConfigError as error:
            raise ToolError(
                f"The agent {role.name} cannot begin: {error.message}", hint=error.hint
            ) from error
        tools = self._tools(errand, role, deeper=level < rules.depth)
        return _Plan(errand, role, tools, model, level, role.max_iterations or rules.max_iterations)

    def _tools(self, errand: Errand, role: Role, *, deeper: bool) -> tuple[str, ...]:
        """The names of the tools that it may use. What the call names must be there and may not go beyond the role."""
        registry = self._parts.tools
        asked = tuple(dict.fromkeys(canonical(name) for name in errand.tools or ()))
        for name in asked:
            if registry.get(name) is None:
                raise ToolError(registry.unknown(name).message)
            if role.tools is not None and name not in role.tools:
                raise ToolError(
                    f"The agent {role.name} does not use {name}.", hint=f"It uses: {', '.join(role.tools)}."
                )
            if not self._usable(name, deeper=deeper):
                raise ToolError(
                    f"A subtask cannot use {name}.", hint="Leave it out, and do that part yourself."
                )
        wanted = asked or role.tools or FILE_TOOLS
        return tuple(name for name in wanted if self._usable(name, deeper=deeper))

    def _usable(self, name: str, *, deeper: bool) -> bool:
        tool = self._parts.tools.get(name)
        if tool is None or "ask" in tool.spec.needs:
            return False
        return deeper or "delegate" not in tool.spec.needs

    async def _work(self, plan: _Plan, call_id: CallId, parent: AgentId) -> DelegateReport:
        recorder, clock = self._parts.recorder, self._parts.clock
        agent = AgentId(f"{plan.role.name}-{recorder.state.agents_begun + 1}")
        recorder.add_agent(agent)
        recorder.append(self._spawned(plan, call_id, parent), agent=agent)
        started = clock.monotonic()
        scope = self._scopes[agent] = anyio.CancelScope()
        outcome: Outcome | None = None
        timed: anyio.CancelScope | None = None
        stored = True
        try:
            with scope, anyio.move_on_after(self._parts.delegation.timeout_seconds) as timed:
                outcome = await self._loop(plan, agent).run()
        except StoreError:
            stored = False  # the turn ends of it, and ends its delegates as far as that can be stored
            raise
        finally:
            del self._scopes[agent]
            if stored:
                in_time = timed is None or not timed.cancelled_caught
                ended = _ended(outcome, plan.iterations, in_time=in_time)
                report = self._end(agent, plan, ended, (clock.monotonic() - started) * 1_000)
            recorder.drop_agent(agent)
            self._states.forget(agent)
        return report

    def _spawned(self, plan: _Plan, call_id: CallId, parent: AgentId) -> AgentSpawned:
        return AgentSpawned(
            name=plan.role.name,
            parent_agent=parent,
            delegate_level=plan.level,
            task=plan.errand.task,
            tools=plan.tools,
            model=plan.model,
            call_id=call_id,
            policy="read-only-delegate" if plan.role.read_only else None,
            max_tokens=plan.errand.max_tokens,
            max_iterations=plan.iterations,
            by=self.by if plan.level == 1 else "agent",
        )

    def _loop(self, plan: _Plan, agent: AgentId) -> TurnLoop:
        parts = self._parts
        brief = Brief(plan.role, plan.errand.max_tokens, partial(parts.recorder.state_of, agent))
        heard = [Unheard(one, instructions=not plan.role.read_only) for one in parts.middlewares]
        own = replace(parts, middlewares=(brief, *heard), agents={"default": partial(ModelAgent, plan.tools)})
        return self._make_loop(own, self._make_caller(own, agent), agent)

    def _end(
        self, agent: AgentId, plan: _Plan, ended: tuple[DelegateEnd, str], took_ms: float
    ) -> DelegateReport:
        """Close what it left open, and record how it ended."""
        recorder = self._parts.recorder
        state = recorder.state
        below = {one.agent: one for one in state.delegates}
        own = [
            call for call in state.open_calls if any(one.agent == agent for one in line_of(below, call.agent))
        ]
        close_calls(recorder, own, why=NOT_RUN)
        reason, why = ended
        history = recorder.messages(agent)
        words = _last_words(history, self._parts.blobs)
        if reason == "completed" and not words:
            reason, why = "failed", "it ended without a word"
        one = next(each for each in recorder.state.delegates if each.agent == agent)
        report = DelegateReport(
            agent=agent,
            success=reason == "completed",
            summary=_bounded(
                _summary(reason, why, words, _last_calls(history, self._parts.blobs)), plan.errand.max_tokens
            ),
            reason=reason,
            files_created=one.files_created,
            files_modified=one.files_modified,
            iterations=one.local_iteration,
            tool_calls=one.tool_calls,
            input_tokens=one.input_tokens,
            output_tokens=one.output_tokens,
            cost_usd=one.cost_usd,
        )
        recorder.append(_finished(report, one.model_calls, took_ms), agent=agent)
        return report


class DelegatesOfCall:
    """`ports.delegate.Delegates` for one call."""

    def __init__(self, run: Callable[[Errand], Awaitable[DelegateReport]]) -> None:
        self._run = run

    async def run(self, errand: Errand) -> DelegateReport:
        """Let a delegate work on it, and wait."""
        return await self._run(errand)


def _finished(report: DelegateReport, model_calls: int, took_ms: float) -> AgentFinished:
    return AgentFinished(
        success=report.success,
        summary=report.summary,
        reason=report.reason,
        files_created=report.files_created,
        files_modified=report.files_modified,
        iterations=report.iterations,
        model_calls=model_calls,
        tool_calls=report.tool_calls,
        input_tokens=report.input_tokens,
        output_tokens=report.output_tokens,
        cost_usd=report.cost_usd,
        duration_ms=round(took_ms, 1),
    )


def _ended(outcome: Outcome | None, iterations: int, *, in_time: bool) -> tuple[DelegateEnd, str]:
    """How it ended, and why where it did not end well."""
    if outcome is None:
        return ("interrupted", "it was stopped") if in_time else ("budget", "its time was up")
    match outcome.reason:
        case "finished":
            return "completed", ""
        case "iteration_limit":
            return "budget", f"it reached its limit of {iterations} iterations"
        case "part_limit" | "cost_limit" | "time_limit":
            return "budget", "the session reached its own limit"
        case "stuck":
            return "failed", "it made the same calls with the same results again and again"
        case _:
            return "failed", outcome.detail.rstrip(".") or "it gave up"


def _summary(reason: DelegateEnd, why: str, words: str, calls: str) -> str:
    if reason == "completed":
        return words
    said = f" Its last words: {words}" if words else f" Its last calls: {calls}." if calls else ""
    return (
        f"The subtask did not end by itself: {why}.{said}"
        if reason != "failed"
        else f"The subtask failed: {why}.{said}"
    )


def _last_words(history: Sequence[Message], blobs: Blobs) -> str:
    """What it said in its newest answer that has words."""
    for message in reversed(history):
        if isinstance(message, AssistantMessage):
            texts = (blobs.text(part.text) for part in message.parts if isinstance(part, TextPart))
            words = "\n".join(text for text in texts if text.strip()).strip()
            if words:
                return words
    return ""


def _last_calls(history: Sequence[Message], blobs: Blobs) -> str:
    """What it called last, each with its first words: all that is known of one that never said anything."""
    calls = [
        part
        for message in history
        if isinstance(message, AssistantMessage)
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    return ", ".join(f"{call.name} {_first_words(call, blobs)}".strip() for call in calls[-MOST_CALLS:])


def _first_words(call: ToolCallPart, blobs: Blobs) -> str:
    """The first of its arguments, whose secrets are taken out before it is cut."""
    said = next((value for value in call.arguments.values() if isinstance(value, str)), "")
    return " ".join(blobs.text(blobs.keep(said)).split())[:CALL_CHARS]


def _bounded(text: str, max_tokens: int) -> str:
    return head_and_tail(text, max_bytes=max(max_tokens, 256) * CHARS_A_TOKEN, max_lines=MOST_LINES).text
