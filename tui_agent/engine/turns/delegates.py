"""Execution of delegates: agents that another agent starts, with their own context and budget.

Invariant: `agent.spawned` is followed by exactly one `agent.finished`, and the calling agent gets a report.
"""

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import anyio

from tui_agent.context.truncation import head_and_tail
from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.components import EngineParts
from tui_agent.engine.interruption_cleanup import close_calls, delegate_end
from tui_agent.engine.model.caller import ModelCaller
from tui_agent.engine.tools.large_results import StoppedOutput
from tui_agent.engine.turns.engine_agents import ModelAgent
from tui_agent.engine.turns.loop import Outcome, TurnLoop
from tui_agent.errors import ConfigError, StoreError, ToolError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.agents import delegate_chain
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.models.tool_call_repair import canonical_name
from tui_agent.plugin_api import BaseMiddleware
from tui_agent.ports.delegate import DelegateEnd, DelegateReport, DelegateTask, Role
from tui_agent.ports.log import Blobs
from tui_agent.ports.middleware import Fragment, Middleware, ToolNext
from tui_agent.ports.model import ModelNext, ModelReply, ModelRequest
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.messages import AssistantMessage, Message, UserMessage
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart, tool_calls
from tui_agent.protocol.settings import ModelInfo

FILE_TOOLS = ("read_file", "write_file", "edit_file", "list_directory", "glob", "grep")
"""Tools of a delegate if neither the call nor the role lists tools."""
WRITING_TOOLS = frozenset({"write_file", "edit_file", "edit_notebook"})
"""Tools that a delegate does not get under the policy `plan`."""
CHARS_PER_TOKEN = 4
MAX_REPORT_LINES = 400
MAX_NAMED_CALLS, MAX_ARGUMENT_CHARS = 5, 60
"""Limits for the report about a delegate without text: number of listed calls, and characters of an argument."""
NOT_RUN = "the subtask ended first"

MakeCaller = Callable[[EngineParts, AgentId], ModelCaller]
MakeLoop = Callable[[EngineParts, ModelCaller, AgentId], TurnLoop]


@dataclass(frozen=True, slots=True)
class _Plan:
    task: DelegateTask
    role: Role
    tools: tuple[str, ...]
    model: ModelInfo
    level: int
    iterations: int


class DelegateRunner:
    """Runs the delegates of a session."""

    def __init__(
        self,
        parts: EngineParts,
        states: StateKeeper,
        make_caller: MakeCaller,
        make_loop: MakeLoop,
        stopped_outputs: MutableMapping[CallId, StoppedOutput],
    ) -> None:
        """Create the runner. `stopped_outputs`: the output of each call that was stopped and has no result yet."""
        self._parts = parts
        self._states = states
        self._make_caller = make_caller
        self._make_loop = make_loop
        self._stopped_outputs = stopped_outputs
        self._scopes: dict[AgentId, anyio.CancelScope] = {}
        self._slots: dict[AgentId, anyio.Semaphore] = {}
        self.requested_by: Literal["agent", "user"] = "agent"
        """The value of the event field `agent.spawned.requested_by` for new delegates."""

    def stop(self, agent: AgentId) -> bool:
        """Stop a delegate; the agent that started it continues. Return False if the delegate is not running."""
        scope = self._scopes.get(agent)
        if scope is None:
            return False
        self._states.resume()
        scope.cancel()
        return True

    def stop_call(self, call_id: CallId) -> bool:
        """Stop the delegate that the call `call_id` waits for. Return False if the call waits for none."""
        delegates = self._parts.recorder.state.delegates
        agents = tuple(delegate.agent for delegate in delegates if delegate.call_id == call_id)
        return any(self.stop(agent) for agent in agents)

    async def run(self, task: DelegateTask, *, call_id: CallId, parent: AgentId) -> DelegateReport:
        """Run a delegate for the agent `parent`. Wait first if `parent` has too many running delegates.

        Raise `ToolError` if the delegate cannot start.
        """
        plan = self._plan(task, parent)
        # Each agent has its own slots. With shared slots, delegates that wait for their own delegates could take all of
        # them, and nothing would continue.
        slots = self._slots.setdefault(parent, anyio.Semaphore(max(1, self._parts.delegation.max_parallel)))
        async with slots:
            return await self._run_plan(plan, call_id, parent)

    def _plan(self, task: DelegateTask, parent: AgentId) -> _Plan:
        delegation, state = self._parts.delegation, self._parts.recorder.state_of(parent)
        level = state.delegate_level + 1
        if level > delegation.max_depth:
            raise ToolError("A delegate cannot start further delegates.", hint="Do this part yourself.")
        role = delegation.roles.get(task.role)
        if role is None:
            known = ", ".join(delegation.offered_roles) or "none"
            raise ToolError(f"There is no agent {task.role!r}.", hint=f"Named agents: {known}.")
        if state.settings is None:
            raise ToolError("The session has no model.")
        try:
            model = state.settings.model
            if role.model not in ("", model.profile):
                model = self._parts.resolve_model(role.model, "", None)
        except ConfigError as error:
            raise ToolError(
                f"The agent {role.name} cannot start: {error.message}", hint=error.hint
            ) from error
        tools = self._tools(task, role, deeper=level < delegation.max_depth)
        if state.settings.policy == "plan":
            tools = tuple(name for name in tools if name not in WRITING_TOOLS)
        return _Plan(task, role, tools, model, level, role.max_iterations or delegation.max_iterations)

    def _tools(self, task: DelegateTask, role: Role, *, deeper: bool) -> tuple[str, ...]:
        """Return the names of the delegate's tools."""
        registry = self._parts.tools
        requested = tuple(dict.fromkeys(canonical_name(name) for name in task.tools or ()))
        for name in requested:
            if registry.get(name) is None:
                usable = [known for known in registry.names() if self._can_use(known, deeper=deeper)]
                raise ToolError(registry.unknown_tool_message(name, usable).message)
            if role.tools is not None and name not in role.tools:
                raise ToolError(
                    f"The agent {role.name} cannot use {name}.",
                    hint=f"The agent's tools: {', '.join(role.tools)}.",
                )
            if not self._can_use(name, deeper=deeper):
                raise ToolError(
                    f"A delegate cannot use {name}.", hint="Leave out this tool, and do that part yourself."
                )
        names = requested or role.tools or FILE_TOOLS
        return tuple(name for name in names if self._can_use(name, deeper=deeper))

    def _can_use(self, name: str, *, deeper: bool) -> bool:
        tool = self._parts.tools.get(name)
        if tool is None or "ask" in tool.spec.needs:  # the user does not talk with delegates
            return False
        return deeper or "delegate" not in tool.spec.needs

    async def _run_plan(self, plan: _Plan, call_id: CallId, parent: AgentId) -> DelegateReport:
        recorder, clock = self._parts.recorder, self._parts.clock
        agent = AgentId(f"{plan.role.name}-{recorder.state.delegate_count + 1}")
        recorder.add_agent(agent)
        recorder.append(self._spawned_event(plan, call_id, parent), agent=agent)
        started = clock.monotonic()
        scope = self._scopes[agent] = anyio.CancelScope()
        outcome: Outcome | None = None
        timed: anyio.CancelScope | None = None
        stored = True
        try:
            with scope, anyio.move_on_after(self._parts.delegation.timeout_seconds) as timed:
                outcome = await self._loop(plan, agent).run()
        except StoreError:
            stored = False  # a store error ends the turn; the end of the turn closes its delegates if that can still be stored
            raise
        finally:
            del self._scopes[agent]
            if stored:
                in_time = timed is None or not timed.cancelled_caught
                ended = _classify_end(outcome, plan.iterations, in_time=in_time)
                report = self._finish(agent, plan, ended, (clock.monotonic() - started) * 1_000)
            recorder.drop_agent(agent)
            self._states.remove_agent(agent)
        return report

    def _spawned_event(self, plan: _Plan, call_id: CallId, parent: AgentId) -> AgentSpawned:
        return AgentSpawned(
            name=plan.role.name,
            parent_agent=parent,
            delegate_level=plan.level,
            task=plan.task.task,
            tools=plan.tools,
            model=plan.model,
            call_id=call_id,
            policy="read-only-delegate" if plan.role.read_only else None,
            max_tokens=plan.task.max_tokens,
            max_iterations=plan.iterations,
            requested_by=self.requested_by if plan.level == 1 else "agent",
        )

    def _loop(self, plan: _Plan, agent: AgentId) -> TurnLoop:
        parts = self._parts
        brief = Brief(plan.role, plan.task.max_tokens, partial(parts.recorder.state_of, agent))
        wrapped = [
            InstructionsOnly(middleware, instructions=not plan.role.read_only)
            for middleware in parts.middlewares
        ]
        agents = {"default": partial(ModelAgent, plan.tools)}
        delegate_parts = parts.with_agents(agents, (brief, *wrapped))
        return self._make_loop(delegate_parts, self._make_caller(delegate_parts, agent), agent)

    def _finish(
        self, agent: AgentId, plan: _Plan, ended: tuple[DelegateEnd, str], duration_ms: float
    ) -> DelegateReport:
        recorder = self._parts.recorder
        state = recorder.state
        by_agent = {delegate.agent: delegate for delegate in state.delegates}
        own_calls = [
            call
            for call in state.open_calls
            if any(delegate.agent == agent for delegate in delegate_chain(by_agent, call.agent))
        ]
        close_calls(recorder, own_calls, why=NOT_RUN, outputs=self._stopped_outputs)
        reason, why = ended
        history = recorder.messages(agent)
        text = _last_text(history, self._parts.blobs)
        if reason == "completed" and not text:
            reason, why = "failed", "it ended without a report"
        delegate = next(delegate for delegate in recorder.state.delegates if delegate.agent == agent)
        report = _report_text(reason, why, text, _last_calls(history, self._parts.blobs))
        max_bytes = max(plan.task.max_tokens, 256) * CHARS_PER_TOKEN
        summary = head_and_tail(report, max_bytes=max_bytes, max_lines=MAX_REPORT_LINES).text
        end = delegate_end(delegate, reason, summary, duration_ms)
        recorder.append(end, agent=agent)
        return DelegateReport(
            agent=agent,
            success=end.success,
            summary=summary,
            reason=reason,
            files_created=end.files_created,
            files_modified=end.files_modified,
            files_deleted=end.files_deleted,
            iterations=end.iterations,
            tool_calls=end.tool_calls,
            input_tokens=end.input_tokens,
            output_tokens=end.output_tokens,
            cost_usd=end.cost_usd,
        )


@dataclass(frozen=True, slots=True)
class CallDelegates:
    """The `ports.delegate.Delegates` service for one call of an agent."""

    runner: DelegateRunner
    call_id: CallId
    agent: AgentId

    async def run(self, task: DelegateTask) -> DelegateReport:
        """Run a delegate on the task and wait for its report."""
        return await self.runner.run(task, call_id=self.call_id, parent=self.agent)


def _classify_end(outcome: Outcome | None, iterations: int, *, in_time: bool) -> tuple[DelegateEnd, str]:
    """Return (how a delegate ended, reason why its task is not completed). The reason is empty for a completed task."""
    if outcome is None:
        return ("interrupted", "the user stopped it") if in_time else ("budget", "it reached its time limit")
    match outcome.reason:
        case "finished":
            return "completed", ""
        case "iteration_limit":
            return "budget", f"it reached its limit of {iterations} iterations"
        case "part_limit" | "cost_limit" | "time_limit":
            return "budget", "the session reached its own limit"
        case "stuck":
            return "failed", "it repeated the same calls with the same results"
        case _:
            return "failed", outcome.detail.rstrip(".") or "it gave up"


def _report_text(reason: DelegateEnd, why: str, text: str, calls: str) -> str:
    if reason == "completed":
        return text
    remains = f" Its last message: {text}" if text else f" Its last calls: {calls}." if calls else ""
    end = "failed" if reason == "failed" else "was stopped early"
    return f"The subtask {end}: {why}.{remains}"


def _last_text(history: Sequence[Message], blobs: Blobs) -> str:
    for message in reversed(history):
        if isinstance(message, AssistantMessage):
            texts = (blobs.read_text(part.text) for part in message.parts if isinstance(part, TextPart))
            joined = "\n".join(text for text in texts if text.strip()).strip()
            if joined:
                return joined
    return ""


def _last_calls(history: Sequence[Message], blobs: Blobs) -> str:
    """Return a delegate's last calls, to report if the delegate wrote no text."""
    answers = (message for message in history if isinstance(message, AssistantMessage))
    calls = [call for answer in answers for call in tool_calls(answer.parts)]
    return ", ".join(
        f"{call.name} {_first_argument(call, blobs)}".strip() for call in calls[-MAX_NAMED_CALLS:]
    )


def _first_argument(call: ToolCallPart, blobs: Blobs) -> str:
    """Return the start of the call's first text argument."""
    argument = next((value for value in call.arguments.values() if isinstance(value, str)), "")
    # Storing a text redacts its secrets.
    return " ".join(blobs.read_text(blobs.put_text(argument)).split())[:MAX_ARGUMENT_CHARS]


LAST_ANSWER_NOTE = (
    "[This is your last answer in this subtask. Do not call tools. Report what you found, what you did, and what is not "
    "done.]"
)


PLAN_NOTE = "Plan policy: you may only read now. Change nothing; report what should be changed, and where."


class Brief(BaseMiddleware):
    """Middleware of a delegate that adds the role's prompt and limits the length of each answer."""

    name = "delegate"

    def __init__(self, role: Role, max_tokens: int, state: Callable[[], SessionStateView]) -> None:
        self._role = role
        self._max_tokens = max_tokens
        self._state = state

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the role's prompt, facts about the workspace and, under the policy `plan`, the rule of this policy."""
        is_planning = state.settings is not None and state.settings.policy == "plan"
        plan = (Fragment(id="plan_mode", text=PLAN_NOTE, priority=350),) if is_planning else ()
        return (
            Fragment(id=f"role.{self._role.name}", text=self._role.prompt, priority=100),
            Fragment(id="workspace", text=f"Workspace: {state.workspace}", priority=150),
            *plan,
        )

    async def wrap_model(self, request: ModelRequest, call_next: ModelNext) -> ModelReply:
        """Limit the length of the answer."""
        if request.purpose != "answer":
            return await call_next(request)
        request = replace(request, max_tokens=min(request.max_tokens, self._max_tokens))
        state = self._state()
        limit = state.own_iteration_limit
        if limit is not None and 1 < limit <= state.local_iteration:
            note = UserMessage(
                content=(TextContent(text=LAST_ANSWER_NOTE),), seq=state.seq, origin="transient"
            )
            request = replace(request, messages=(*request.messages, note))
        return await call_next(request)


class InstructionsOnly(BaseMiddleware):
    """Wraps a middleware for a delegate, so that the middleware adds only instructions to the delegate's prompt.

    `instructions`: False if the delegate gets no instructions either.
    """

    def __init__(self, inner: Middleware, *, instructions: bool) -> None:
        self.name = inner.name
        self._inner = inner
        self._instructions = instructions

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return the instructions that the wrapped middleware contributes, if the delegate gets instructions."""
        if not self._instructions:
            return ()
        return [fragment for fragment in self._inner.contribute(state) if fragment.section == "instructions"]

    async def wrap_model(self, request: ModelRequest, call_next: ModelNext) -> ModelReply:
        """Call the wrapped middleware."""
        return await self._inner.wrap_model(request, call_next)

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
        """Call the wrapped middleware."""
        return await self._inner.wrap_tool(call, call_next)
