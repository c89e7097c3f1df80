"""The tool phase: the calls of one answer, gated and run.

Invariant: calls keep their order; calls marked safe run side by side, and none overtakes one that is not; every
`tool.called` gets its `tool.finished`, here or when the turn is closed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
from pydantic import BaseModel

from tui_agent.engine.components import EngineParts
from tui_agent.engine.limits import exhausted
from tui_agent.engine.tools.gate import Gate
from tui_agent.engine.tools.hooks import NOTHING, Hooks
from tui_agent.engine.tools.runner import CallRunner
from tui_agent.engine.tools.tool_names import canonical
from tui_agent.engine.tools.verdict import Verdict
from tui_agent.errors import EnvironmentFault, StoreError, ToolError
from tui_agent.ports.tool import Settling, Tool
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStatus
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.parts import TextContent, ToolCallPart
from tui_agent.workspace.local.granted_paths import reaching


@dataclass(frozen=True, slots=True)
class _Planned:
    """A call with what the registry knows of it; `problem` says why it cannot run."""

    call: ToolCallPart
    tool: Tool[BaseModel] | None
    args: BaseModel | None
    problem: str = ""
    verdict: Verdict = field(default_factory=lambda: Verdict(False))
    """How it was judged, once it was."""

    @property
    def side_by_side(self) -> bool:
        return self.tool is not None and self.tool.spec.parallel_safe

    @property
    def among(self) -> str:
        """Which calls it runs beside."""
        return "" if self.tool is None else self.tool.spec.parallel_among


class ToolPhase:
    """Runs the calls of one answer for one agent."""

    def __init__(self, parts: EngineParts, gate: Gate, runner: CallRunner) -> None:
        self._parts = parts
        self._gate = gate
        self._runner = runner
        self._hooks = Hooks(parts)

    async def run(self, calls: Sequence[ToolCallPart], agent: AgentId) -> None:
        """Run all calls; returns when each has its result. Cancelled or out of budget, it leaves
        the rest without one. A call that an earlier run has recorded is not recorded again."""
        planned = [self._plan(call) for call in calls]
        known = {call.call_id for call in self._parts.recorder.state.open_calls if call.called}
        for plan in planned:
            if plan.call.call_id not in known:
                self._called(plan, agent)
        for group in _groups(planned):
            if exhausted(self._parts.recorder.state_of(agent)):
                return
            passed = [await self._passed(plan, agent) for plan in group]
            await self._run_group([plan for plan in passed if plan is not None], agent)

    def stop(self, call_id: CallId) -> bool:
        """Stop one running call; the turn goes on."""
        return self._runner.stop(call_id)

    def _plan(self, call: ToolCallPart) -> _Planned:
        name = call.name
        if self._parts.tools.get(name) is None and canonical(name) != name:
            name = canonical(name)
            call = call.model_copy(update={"name": name})
        tool = self._parts.tools.get(name)
        if call.malformed is not None and tool is not None:
            return _Planned(call, tool, None, _unsound(text_preview(call.malformed)))
        parsed = self._parts.tools.parse(name, call.arguments)
        if isinstance(parsed, BaseModel):
            return _Planned(call, tool, parsed)
        return _Planned(call, tool, None, parsed.message)

    def _called(self, plan: _Planned, agent: AgentId) -> None:
        tool, args = plan.tool, plan.args
        recorder = self._parts.recorder
        recorder.append(
            ToolCalled(
                call_id=plan.call.call_id,
                name=plan.call.name,
                arguments=plan.call.arguments,
                iteration=recorder.state_of(agent).own_iteration,
                verb=tool.spec.verb if tool is not None else plan.call.name[:9],
                target=tool.target(args) if tool is not None and args is not None else "",
            ),
            agent=agent,
        )

    def _fitting(self, call: ToolCallPart) -> tuple[str, str]:
        plan = self._plan(call)
        return plan.problem, "" if plan.tool is None or plan.args is None else plan.tool.target(plan.args)

    async def _passed(self, plan: _Planned, agent: AgentId) -> _Planned | None:
        """The call as it may run, with nothing left open; where it may not, its result is recorded here."""
        heard = NOTHING
        if plan.args is not None:
            heard = await self._hooks.before_tool(plan.call, agent, self._fitting)
        if heard.call is not None and heard.call is not plan.call:
            plan = self._plan(heard.call)
        tool, args = plan.tool, plan.args
        if tool is None or args is None:
            self._close(plan.call, agent, "invalid", plan.problem, "invalid call")
            return None
        if isinstance(tool, Settling):
            try:
                args = await tool.settle(args, reaching(self._parts.env, tool.effects(args)))
            except (ToolError, EnvironmentFault) as fault:
                self._close(plan.call, agent, "failed", str(fault), fault.message.split("\n")[0][:60])
                return None
        try:
            verdict = await self._gate.decide(plan.call, tool, args, agent, heard)
        except EnvironmentFault as fault:  # a path that cannot even be looked up is the call's fault
            self._close(plan.call, agent, "invalid", str(fault), "invalid path")
            return None
        except ToolError as fault:  # it would fail whatever the user said
            self._close(plan.call, agent, "failed", str(fault), fault.message.split("\n")[0][:60])
            return None
        if not verdict.allowed:
            self._close(plan.call, agent, "denied", verdict.for_model, verdict.summary)
            return None
        return replace(plan, args=args, verdict=verdict)

    async def _run_group(self, ready: Sequence[_Planned], agent: AgentId) -> None:
        if len(ready) == 1:
            await self._run_one(ready[0], agent)
            return
        failures: list[StoreError] = []
        async with anyio.create_task_group() as group:
            for plan in ready:
                group.start_soon(partial(self._run_guarded, plan, agent, failures))
        if failures:
            raise failures[0]

    async def _run_guarded(self, plan: _Planned, agent: AgentId, failures: list[StoreError]) -> None:
        """A store that cannot write stops the phase, but as itself and not as a group of exceptions."""
        try:
            await self._run_one(plan, agent)
        except StoreError as error:
            failures.append(error)

    async def _run_one(self, plan: _Planned, agent: AgentId) -> None:
        if plan.tool is not None and plan.args is not None:
            ended = await self._runner.run(plan.call, plan.tool, plan.args, agent, plan.verdict)
            await self._hooks.after_tool(plan.call, ended, agent)

    def _close(
        self, call: ToolCallPart, agent: AgentId, status: ToolStatus, for_model: str, summary: str
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
            ),
            agent=agent,
        )


def _unsound(raw: str) -> str:
    """What the model is told of a call whose arguments cannot be trusted."""
    try:
        whole = isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        whole = False
    if whole:
        return "Your answer reached its length limit at this call, so it may be cut and was not run. Send it again alone."
    return "The arguments were no complete JSON object, so nothing was run. Send them again."


def _groups(planned: Sequence[_Planned]) -> list[list[_Planned]]:
    """Neighbouring safe calls together, every other call alone, in order."""
    groups: list[list[_Planned]] = []
    for plan in planned:
        last = groups[-1][-1] if groups else None
        if last is not None and plan.side_by_side and last.side_by_side and plan.among == last.among:
            groups[-1].append(plan)
        else:
            groups.append([plan])
    return groups
