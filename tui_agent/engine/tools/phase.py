"""The tool phase: passes the calls of one answer through hooks, gate and runner.

Parallel-safe calls that follow each other run at the same time. After a failed edit, no command of the answer runs.

Invariant: every `tool.called` gets a `tool.finished`, at the latest when the turn ends.
"""

import os
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import TypeAlias

import anyio
from pydantic import BaseModel

from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.budget_limits import is_budget_exhausted
from tui_agent.engine.components import EngineParts
from tui_agent.engine.hooks import NO_VERDICT, Hooks
from tui_agent.engine.plugins.error_guard import GuardedTool
from tui_agent.engine.tools.arguments import InvalidArguments
from tui_agent.engine.tools.gate import Gate
from tui_agent.engine.tools.registry import CheckedCall
from tui_agent.engine.tools.sandbox_retry import Verdict
from tui_agent.engine.tools.tool_access import explain_refusal
from tui_agent.engine.tools.tool_runner import CallRunner, summarise_fault
from tui_agent.errors import EnvironmentFault, StoreError, ToolCrash, ToolError, ToolUnavailable
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import HOOKS_REASON
from tui_agent.json_text import parse_json
from tui_agent.models.tool_call_repair import tool_name
from tui_agent.protocol.display_blocks import DisplayBlock, TextBlock
from tui_agent.protocol.effects import Effect, ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStatus
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.parts import TextContent, ToolCallPart
from tui_agent.protocol.settings import AgentState
from tui_agent.protocol.stored_text import text_preview
from tui_agent.workspace.local.granted_paths import grant_paths

_EDIT_VERBS = frozenset({"edit", "write"})
"""Values of `spec.verb` for tools that change a file."""
_MAX_NAME_CHARS = 60
"""Maximum length of an unknown tool's name on the screen, in characters."""
_AFTER_FAILED_EDIT = "Not run, because an earlier edit in this answer was not applied."


@dataclass(frozen=True, slots=True)
class _PlannedCall:
    """A call with its tool and parsed arguments.

    - `args`: None if there is a fault.
    - `target`: text for the call's row on the screen.
    - `fault`: reason why the call cannot run.
    """

    call: ToolCallPart
    tool: GuardedTool | None
    args: BaseModel | None = None
    target: str = ""
    fault: ToolError | None = None

    @property
    def parallel_key(self) -> tuple[str, str]:
        """Key for parallel execution: consecutive calls with the same key can run at the same time."""
        if self.tool is None or not self.tool.spec.parallel_safe:
            return "call", self.call.call_id
        return "group", self.tool.spec.parallel_group

    @property
    def is_edit(self) -> bool:
        return self.tool is not None and self.tool.spec.verb in _EDIT_VERBS


_AllowedCall: TypeAlias = tuple[CheckedCall, Verdict]


class ToolPhase:
    """Runs the tool calls of one answer for one agent."""

    def __init__(self, parts: EngineParts, states: StateKeeper, gate: Gate, runner: CallRunner) -> None:
        self._parts = parts
        self._states = states
        self._gate = gate
        self._runner = runner
        self._hooks = Hooks(parts)

    async def run(self, calls: Sequence[ToolCallPart], agent: AgentId) -> None:
        """Run all calls, and return when each call has a result."""
        planned = [self._plan(call, agent) for call in calls]
        recorded = {call.call_id for call in self._parts.recorder.state.open_calls if call.called}
        for plan in planned:
            # An earlier run may have recorded the call already, if it still waits for approval.
            if plan.call.call_id not in recorded:
                self._record_call(plan, agent)
        edit_failed = False
        for _, group in groupby(planned, lambda plan: plan.parallel_key):
            if is_budget_exhausted(self._parts.recorder.state_of(agent)):
                return  # the end of the turn closes the other calls
            plans = list(group)
            authorized = [await self._authorize(plan, agent, edit_failed=edit_failed) for plan in plans]
            ends = await self._run_group([allowed for allowed in authorized if allowed is not None])
            succeeded = [end for end in ends if end.status == "ok"]
            edit_failed = edit_failed or (plans[0].is_edit and len(succeeded) < len(plans))

    def _plan(self, call: ToolCallPart, agent: AgentId) -> _PlannedCall:
        name = tool_name(call.name, self._parts.tools.names())
        if name != call.name:
            call = call.model_copy(update={"name": name})
        tool = self._parts.tools.get(name)
        refusal = explain_refusal(self._parts, agent, name)
        if refusal:
            servers = self._parts.tool_servers
            absence = servers.explain_absence(name) if tool is None and servers is not None else ""
            return _PlannedCall(call, tool, fault=ToolUnavailable(absence) if absence else ToolError(refusal))
        if call.malformed is not None:
            fault = ToolError(_malformed_message(text_preview(call.malformed)))
            return _PlannedCall(call, tool, fault=fault)
        try:
            parsed = self._parts.tools.parse(name, call.arguments)
        except ToolCrash as crash:
            return _PlannedCall(call, tool, fault=crash)
        if isinstance(parsed, InvalidArguments):
            return _PlannedCall(call, tool, fault=ToolError(parsed.message))
        assert tool is not None
        try:
            return _PlannedCall(call, tool, parsed, tool.target(parsed))
        except ToolCrash as crash:
            return _PlannedCall(call, tool, fault=crash)

    def _record_call(self, plan: _PlannedCall, agent: AgentId) -> None:
        recorder, tool = self._parts.recorder, plan.tool
        recorder.append(
            ToolCalled(
                call_id=plan.call.call_id,
                name=plan.call.name,
                arguments=plan.call.arguments,
                iteration=recorder.state_of(agent).own_iteration,
                verb=tool.spec.verb if tool is not None else "call",
                target=plan.target if tool is not None else plan.call.name[:_MAX_NAME_CHARS],
            ),
            agent=agent,
        )

    def _check_arguments(self, agent: AgentId, call: ToolCallPart) -> tuple[str, str]:
        plan = self._plan(call, agent)
        return "" if plan.fault is None else plan.fault.message, plan.target

    async def _authorize(
        self, plan: _PlannedCall, agent: AgentId, *, edit_failed: bool
    ) -> _AllowedCall | None:
        """Pass a call through hooks and gate. Record a result and return None if the call must not run."""
        hook_verdict = NO_VERDICT
        if plan.args is not None and self._hooks.has_hooks("before_tool", plan.call.name):
            self._states.set(AgentState.RUNNING, HOOKS_REASON, agent=agent)
            hook_verdict = await self._hooks.before_tool(
                plan.call, agent, partial(self._check_arguments, agent)
            )
            self._states.set(AgentState.RUNNING, agent=agent)
        if hook_verdict.call is not None and hook_verdict.call is not plan.call:
            plan = self._plan(hook_verdict.call, agent)
        tool, args = plan.tool, plan.args
        if tool is None or args is None:
            assert plan.fault is not None
            if isinstance(plan.fault, ToolCrash | ToolUnavailable):
                self._close_failed(plan.call, agent, plan.fault)
            else:
                reason = (TextBlock(text=plan.fault.message),)
                self._close(plan.call, agent, "invalid", plan.fault.message, "invalid call", reason)
            return None
        try:
            effects = tool.effects(args)
            await self._refuse_home_paths(effects)
            if edit_failed and any(isinstance(effect, RunEffect) for effect in effects):
                shown = (TextBlock(text=_AFTER_FAILED_EDIT),)
                self._close(plan.call, agent, "interrupted", _AFTER_FAILED_EDIT, "not run", shown)
                return None
            if tool.can_settle_arguments:
                args = await tool.settle_arguments(args, grant_paths(self._parts.env, effects))
        except (ToolError, EnvironmentFault) as fault:
            self._close_failed(plan.call, agent, fault)
            return None
        try:
            checked = CheckedCall(plan.call, tool, args, agent, tool.effects(args))
            verdict = await self._gate.decide(checked, hook_verdict)
        except EnvironmentFault as fault:  # a path that cannot be resolved makes the call invalid
            self._close(plan.call, agent, "invalid", str(fault), "invalid path")
            return None
        except ToolError as fault:  # the call would fail even if the user allowed it
            self._close_failed(plan.call, agent, fault)
            return None
        if not verdict.allowed:
            self._close(plan.call, agent, "denied", verdict.for_model, verdict.summary)
            return None
        return checked, verdict

    async def _refuse_home_paths(self, effects: Sequence[Effect]) -> None:
        """Raise `ToolError` for a file tool's path that begins with `~`, unless the workspace has a folder `~`."""
        env = self._parts.env
        paths = [effect.path for effect in effects if isinstance(effect, ReadEffect | WriteEffect)]
        path = next((path for path in paths if path == "~" or path.startswith("~/")), None)
        if path is None or await env.stat("~") is not None:
            return
        hint = f"Use {_expand_home(path)}." if env.name == LOCAL_ENVIRONMENT else "Use the absolute path."
        raise ToolError(f"File tools do not expand `~` in {path}.", hint=hint)

    async def _run_group(self, ready: Sequence[_AllowedCall]) -> Sequence[ToolFinished]:
        if len(ready) == 1:
            return [await self._run_call(*ready[0])]
        ends: list[ToolFinished] = []
        failures: list[StoreError] = []

        async def run_guarded(allowed: _AllowedCall) -> None:
            # Collect a `StoreError`, so that it is raised alone and not in an exception group.
            try:
                ends.append(await self._run_call(*allowed))
            except StoreError as error:
                failures.append(error)

        async with anyio.create_task_group() as group:
            for allowed in ready:
                group.start_soon(run_guarded, allowed)
        if failures:
            raise failures[0]
        return ends

    async def _run_call(self, checked: CheckedCall, verdict: Verdict) -> ToolFinished:
        ended = await self._runner.run(checked, verdict)
        await self._hooks.after_tool(checked.call, ended, checked.agent)
        return ended

    def _close_failed(self, call: ToolCallPart, agent: AgentId, fault: ToolError | EnvironmentFault) -> None:
        if isinstance(fault, ToolCrash):
            self._runner.record_crash(call, agent, fault)
        self._close(call, agent, "failed", str(fault), summarise_fault(fault))

    def _close(
        self,
        call: ToolCallPart,
        agent: AgentId,
        status: ToolStatus,
        for_model: str,
        summary: str,
        display: tuple[DisplayBlock, ...] = (),
    ) -> None:
        recorder = self._parts.recorder
        recorder.append(
            ToolFinished(
                call_id=call.call_id,
                name=call.name,
                status=status,
                part=recorder.state.parts,
                content=(TextContent(text=for_model),),
                summary=summary,
                display=display,
            ),
            agent=agent,
        )


def _expand_home(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 - does not raise if there is no home


def _malformed_message(raw: str) -> str:
    try:
        is_complete = isinstance(parse_json(raw), dict)
    except ValueError:
        is_complete = False
    if is_complete:
        return "Your answer reached its length limit at this call, so the call may be incomplete and was not run. Send it again alone."
    return "The arguments were not a complete JSON object, so the call was not run. Send it again."
