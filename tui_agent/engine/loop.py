"""One turn: iterations of `Agent.step` until the agent is done, a limit is reached, or someone stops it.

Invariant: a turn that started always finishes, with one reason; its closing events are written even when it is
cancelled.
"""

from dataclasses import dataclass
from typing import Literal

from tui_agent.engine.agent_messages import bring, leave, new_ids
from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.cleanup import close_calls
from tui_agent.engine.components import EngineParts
from tui_agent.engine.limits import reached
from tui_agent.engine.model.caller import ModelCaller
from tui_agent.engine.open_calls import INSTEAD, sent
from tui_agent.engine.questions import STUCK_OPTIONS, Asker
from tui_agent.engine.tools.phase import ToolPhase
from tui_agent.errors import ConfigError, GoesInCircles, ModelError, ToolError
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.ports.agent import Action, Agent, CallTools, Finish, Reject, SayMessage
from tui_agent.protocol.events.turn import IterationFinished, IterationStarted, TurnEnd
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.parts import TextPart, ToolCallPart
from tui_agent.protocol.settings import AgentState

ASK_AFTER = 4
"""So many equal calls with equal results in a row, and the user is asked."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why a turn ended, with a sentence for the user where the reason needs one."""

    reason: TurnEnd
    detail: str = ""


class TurnLoop:
    """Drives one agent through its iterations."""

    def __init__(
        self,
        parts: EngineParts,
        states: StateKeeper,
        caller: ModelCaller,
        phase: ToolPhase,
        asker: Asker,
        agent: AgentId,
    ) -> None:
        self._parts = parts
        self._states = states
        self._caller = caller
        self._phase = phase
        self._asker = asker
        self._agent = agent
        self._asked_about = ""

    async def run(self) -> Outcome:
        """Iterate to the end. Cancellation passes through."""
        recorder = self._parts.recorder
        try:
            agent = self._make_agent()
            await self._ask_again()
            while True:
                limit = reached(recorder.state_of(self._agent))
                if limit is not None:
                    return Outcome(*limit)
                if not await self._may_go_on():
                    return Outcome("stuck", "Stopped: the same call gave the same result again and again.")
                await self._states.checkpoint(self._agent)
                before = recorder.state_of(self._agent)
                outcome = await self._iterate(agent)
                if outcome is not None and not _more_was_said(before, recorder.state_of(self._agent)):
                    return outcome
        except (ModelError, ConfigError) as error:
            return Outcome("model_error", str(error))
        except GoesInCircles as error:
            return Outcome("stuck", str(error))

    async def _ask_again(self) -> None:
        """Begin with the calls that an earlier run left open: they are judged, and asked about, as of today."""
        recorder = self._parts.recorder
        waiting = [call for call in recorder.state.open_calls if call.agent == self._agent]
        calls = sent(recorder, self._parts.blobs, {call.call_id for call in waiting})
        known = {call.call_id for call in calls}
        close_calls(recorder, [call for call in waiting if call.call_id not in known], why=INSTEAD)
        if calls:
            self._states.set(AgentState.RUNNING, agent=self._agent)
            await self._phase.run(calls, self._agent)

    def _make_agent(self) -> Agent:
        settings = self._parts.recorder.state_of(self._agent).settings
        name = settings.agent if settings is not None else "default"
        make = self._parts.agents.get(name)
        if make is None:
            known = ", ".join(sorted(self._parts.agents))
            raise ConfigError(f"There is no agent {name!r}.", hint=f"/agent chooses one of: {known}.")
        return make()

    async def _iterate(self, agent: Agent) -> Outcome | None:
        recorder, clock = self._parts.recorder, self._parts.clock
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
                action=_name(action),
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
                leave(self._parts.recorder, self._agent)
                if text:
                    bring(self._parts, self._agent, (TextPart(text=text),))
                return Outcome("finished")
            case Reject(reason=reason):
                return Outcome("rejected", reason)

    async def _run_calls(self, calls: tuple[ToolCallPart, ...]) -> None:
        """Run the calls: those of the model's answer first, then those that the agent brought itself."""
        recorder = self._parts.recorder
        await self._states.checkpoint(self._agent)
        asked = {call.call_id for call in recorder.state.open_calls}
        answered = tuple(call for call in calls if call.call_id in asked)
        leave(recorder, self._agent, keep={call.call_id for call in answered})
        await self._phase.run(answered, self._agent)
        own = new_ids(self._parts.ids, [call for call in calls if call.call_id not in asked])
        if own and not any(call.agent == self._agent for call in recorder.state.open_calls):
            bring(self._parts, self._agent, own)
            await self._phase.run(own, self._agent)

    async def _may_go_on(self) -> bool:
        """Whether to go on when the agent turns in circles: the user decides, once for each such call; a delegate ends."""
        state = self._parts.recorder.state_of(self._agent)
        if state.repeats < ASK_AFTER or self._asked_about == state.repeated_call:
            return True
        if state.delegate_level:
            return False
        self._asked_about = state.repeated_call
        try:
            answer = await self._asker.ask(
                f"The agent made the same call {state.repeats} times with the same result. Let it go on?",
                STUCK_OPTIONS,
                "stuck",
                self._agent,
            )
        except ToolError:
            return False
        return answer.choice == 0


def _more_was_said(before: SessionStateView, now: SessionStateView) -> bool:
    """Whether the user steered while the iteration ran. What an agent saw and asked no model about waits."""
    asked = now.totals.model_calls > before.totals.model_calls
    return now.steers > (0 if asked else before.steers)


def _name(action: Action) -> Literal["calls", "message", "finish", "reject"]:
    match action:
        case CallTools():
            return "calls"
        case SayMessage():
            return "message"
        case Finish():
            return "finish"
        case Reject():
            return "reject"
