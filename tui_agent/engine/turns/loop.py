"""The loop of a turn: runs `Agent.step` until the agent is done, a limit is reached, or the user stops the turn.

Invariant: every started turn ends with exactly one recorded reason, even if it is cancelled.
"""

from collections.abc import Sequence
from typing import Literal

import anyio.lowlevel

from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.budget_limits import reached_limit
from tui_agent.engine.components import EngineParts
from tui_agent.engine.interruption_cleanup import (
    TURN_ENDED_FIRST,
    calls_as_sent,
    close_calls,
    close_unused_calls,
)
from tui_agent.engine.model.caller import ModelCaller
from tui_agent.engine.questions import STUCK_OPTIONS, Asker
from tui_agent.engine.tools.phase import ToolPhase
from tui_agent.engine.turns.plugin_reload import PluginReload
from tui_agent.errors import AgentLoopDetected, ConfigError, ModelError, ToolError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import SERVERS_REASON, SessionStateView
from tui_agent.models.tool_call_repair import tool_name
from tui_agent.ports.agent import Action, Agent, CallTools, Finish, Reject, SayMessage
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.turn import IterationFinished, IterationStarted, TurnEnd, UserSteered
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.parts import ModelPart, TextPart, ToolCallPart, Usage, tool_calls
from tui_agent.protocol.settings import AgentState

_ACTION_NAMES: dict[type[Action], Literal["calls", "message", "finish", "reject"]] = {
    CallTools: "calls",
    SayMessage: "message",
    Finish: "finish",
    Reject: "reject",
}
MAX_REPEATS = 4
"""After this many equal calls with equal results in a row, the user is asked."""

POLICY_RETRY = "policy:retry"
"""If `SessionStarted.without` contains this value, a denied call ends the turn."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The reason why a turn ended. `detail`: a sentence for the user, or empty."""

    reason: TurnEnd
    detail: str = ""


class TurnLoop:
    """Runs the iterations of one agent in a turn."""

    def __init__(
        self,
        parts: EngineParts,
        states: StateKeeper,
        caller: ModelCaller,
        phase: ToolPhase,
        asker: Asker,
        agent: AgentId,
        reload: PluginReload,
    ) -> None:
        self._parts = parts
        self._states = states
        self._caller = caller
        self._phase = phase
        self._asker = asker
        self._agent = agent
        self._reload = reload
        self._asked_about = ""

    async def run(self, first: Agent | None = None) -> Outcome:
        """Run iterations until the turn ends.

        `first`: agent that begins the turn. By default, this is the session's agent.
        """
        recorder = self._parts.recorder
        try:
            agent = first or self._make_agent()
            await self._run_reopened_calls()
            while True:
                limit = reached_limit(recorder.state_of(self._agent))
                if limit is not None:
                    return Outcome(*limit)
                if self._ends_at_denial():
                    return Outcome(
                        "denied", "Stopped: a call was denied, and this session stops after a denial."
                    )
                if not await self._may_continue():
                    return Outcome("stuck", "Stopped: the agent repeated the same call with the same result.")
                await self._states.wait_while_paused(self._agent)
                # A plugin's code can end a call although it was stopped; no iteration may start after that.
                await anyio.lowlevel.checkpoint_if_cancelled()
                before = recorder.state_of(self._agent)
                outcome = await self._iterate(agent)
                if outcome is None:
                    continue
                now = recorder.state_of(self._agent)
                # The agent of a special prompt, such as /init, answers only that prompt: the session's agent takes over.
                if first is not None and now.pending_steers:
                    agent, first = self._make_agent(), None
                elif not _has_new_steering(before, now):
                    return outcome
        except (ModelError, ConfigError) as error:
            return Outcome("model_error", str(error))
        except AgentLoopDetected as error:
            return Outcome("stuck", str(error))

    def _ends_at_denial(self) -> bool:
        state = self._parts.recorder.state
        return bool(state.turn_denials) and POLICY_RETRY in state.without

    async def _run_reopened_calls(self) -> None:
        recorder = self._parts.recorder
        waiting = [call for call in recorder.state.open_calls if call.agent == self._agent]
        calls = calls_as_sent(recorder, self._parts.blobs, {call.call_id for call in waiting})
        resent = {call.call_id for call in calls}
        close_calls(recorder, [call for call in waiting if call.call_id not in resent], why=TURN_ENDED_FIRST)
        if calls:
            await self._wait_for_tools([call.name for call in calls])
            self._states.set(AgentState.RUNNING, agent=self._agent)
            await self._phase.run(calls, self._agent)

    async def _wait_for_tools(self, called: Sequence[str]) -> None:
        """Wait until the servers of the tools in `called` have started, and make these tools available."""
        servers, known = self._parts.tool_servers, self._parts.tools.names()
        missing = [name for name in (tool_name(call, known) for call in called) if name not in known]
        if servers is not None and any(map(servers.explain_absence, missing)):
            self._states.set(AgentState.RUNNING, SERVERS_REASON, agent=self._agent)
            await servers.wait_for_tools(missing)
            await self._reload.load_for_later()
        self._parts.extensions.take_over(self._parts.recorder)

    def _make_agent(self) -> Agent:
        settings = self._parts.recorder.state_of(self._agent).settings
        name = settings.agent if settings is not None else "default"
        make = self._parts.agents.get(name)
        if make is None:
            known = ", ".join(sorted(self._parts.agents))
            raise ConfigError(f"There is no agent {name!r}.", hint=f"Choose one with /agent: {known}.")
        return make()

    async def _iterate(self, agent: Agent) -> Outcome | None:
        recorder, clock = self._parts.recorder, self._parts.clock
        self._parts.extensions.take_over(recorder)
        state = recorder.state_of(self._agent)
        iteration = state.iteration + 1
        recorder.append(
            IterationStarted(
                iteration=iteration,
                local_iteration=state.local_iteration + 1,
                delegate_level=state.delegate_level,
            ),
            agent=self._agent,
        )
        self._states.set(AgentState.RUNNING, agent=self._agent)
        started = clock.monotonic()
        action = await agent.step(recorder.state_of(self._agent), self._caller.ask)
        outcome = await self._carry_out(action)
        recorder.append(
            IterationFinished(
                iteration=iteration,
                action=_ACTION_NAMES[type(action)],
                duration_ms=round((clock.monotonic() - started) * 1000, 1),
            ),
            agent=self._agent,
        )
        return outcome

    async def _carry_out(self, action: Action) -> Outcome | None:
        match action:
            case CallTools(calls=calls):
                await self._run_calls(calls)
                return None
            case SayMessage(text=text) | Finish(text=text):
                close_unused_calls(self._parts.recorder, self._agent)
                if text:
                    self._record_answer((TextPart(text=text),))
                return Outcome("finished")
            case Reject(reason=reason):
                return Outcome("rejected", reason)

    async def _run_calls(self, calls: tuple[ToolCallPart, ...]) -> None:
        recorder = self._parts.recorder
        await self._states.wait_while_paused(self._agent)
        open_ids = {call.call_id for call in recorder.state.open_calls}
        from_model = tuple(call for call in calls if call.call_id in open_ids)
        close_unused_calls(recorder, self._agent, keep={call.call_id for call in from_model})
        await self._phase.run(from_model, self._agent)
        # Other calls get new ids, because an agent program can choose ids that are already in use.
        from_agent = tuple(
            call.model_copy(update={"call_id": self._parts.ids.call()})
            for call in calls
            if call.call_id not in open_ids
        )
        if from_agent and not any(call.agent == self._agent for call in recorder.state.open_calls):
            self._record_answer(from_agent)
            await self._phase.run(from_agent, self._agent)

    def _record_answer(self, new_parts: Sequence[ModelPart]) -> None:
        """Record the parts that the agent created without a model as the agent's answer, before they are used."""
        recorder = self._parts.recorder
        recorder.append(
            ModelResponded(
                request_id=self._parts.ids.request(),
                first_part=recorder.state.parts,
                parts=tuple(new_parts),
                finish="tool_calls" if tool_calls(new_parts) else "stop",
                usage=Usage(),
                cost_usd=None,
                duration_ms=0.0,
                author="agent",
            ),
            agent=self._agent,
        )

    async def _may_continue(self) -> bool:
        """Return False if the agent must stop because it repeats the same call with the same result."""
        state = self._parts.recorder.state_of(self._agent)
        if state.repeat_count < MAX_REPEATS or self._asked_about == state.repeated_call:
            return True
        if state.delegate_level:
            return False  # a delegate does not ask the user
        self._asked_about = state.repeated_call
        try:
            answer = await self._asker.ask(
                f"The agent made the same call {state.repeat_count} times with the same result. Let it continue?",
                STUCK_OPTIONS,
                "stuck",
                self._agent,
            )
        except ToolError:
            return False
        if answer.choice is None and answer.text.strip():
            self._parts.recorder.append(UserSteered(text=answer.text), agent=self._agent)
            return True
        return answer.choice == 0


def _has_new_steering(before: SessionStateView, now: SessionStateView) -> bool:
    """Return True if the agent must continue because the user sent a message that no model call has seen.

    `before`, `now`: the state at the start and at the end of the iteration.
    """
    called_model = now.totals.model_calls > before.totals.model_calls
    return now.pending_steers > (0 if called_model else before.pending_steers)
