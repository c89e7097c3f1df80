"""Begins and ends turns: the message, the agent's run inside its cancel scope, the closing events.

Invariant: at most one turn runs; `turn.started` is always followed by `turn.finished`.
"""

import traceback
from dataclasses import replace
from functools import partial

import anyio

from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.checkpoints.recorder import Checkpointing
from tui_agent.engine.cleanup import close_calls
from tui_agent.engine.compaction.commands import bring_back, require_there
from tui_agent.engine.components import EngineParts
from tui_agent.engine.delegates.handoff import HandsOver
from tui_agent.engine.delegates.runner import Delegating
from tui_agent.engine.loop import Outcome, TurnLoop
from tui_agent.engine.mailbox import Waiting
from tui_agent.engine.model.caller import ModelCaller
from tui_agent.engine.model.delta_merge import Ticker
from tui_agent.engine.model.init_agent import SOURCE, InitAgent
from tui_agent.engine.open_calls import INSTEAD, unanswered
from tui_agent.engine.questions import Asker
from tui_agent.engine.tools.gate import Gate
from tui_agent.engine.tools.hooks import Hooks
from tui_agent.engine.tools.jobs import Jobs
from tui_agent.engine.tools.phase import ToolPhase
from tui_agent.engine.tools.runner import CallRunner
from tui_agent.errors import StoreError
from tui_agent.folds.session.fold import OpenCall
from tui_agent.folds.session.view import BRINGING_BACK
from tui_agent.ports.delegate import Delegates
from tui_agent.ports.middleware import TurnContext
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.commands import AnswerQuestion, Compact, DecidePermission, RestoreContext
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.turn import TurnEnd, TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId
from tui_agent.protocol.settings import AgentState

_STATE_AFTER: dict[TurnEnd, AgentState] = {
    "finished": AgentState.FINISHED,
    "rejected": AgentState.REJECTED,
    "model_error": AgentState.ERROR,
    "error": AgentState.ERROR,
}


class Turns:
    """The turns of a session's main agent."""

    def __init__(
        self,
        parts: EngineParts,
        states: StateKeeper,
        ticker: Ticker,
        decisions: Waiting[DecidePermission],
        answers: Waiting[AnswerQuestion],
        checkpointing: Checkpointing,
        jobs: Jobs,
    ) -> None:
        self._parts = parts
        self._states = states
        self._checkpointing = checkpointing
        asker = Asker(parts, states, answers)
        gate = Gate(parts, states, decisions)
        self._runner = CallRunner(parts, ticker, asker, checkpointing, jobs, gate, self._delegates)
        phase = ToolPhase(parts, gate, self._runner)

        used: set[CallId] = set()

        def caller(parts: EngineParts, agent: AgentId) -> ModelCaller:
            return ModelCaller(parts, ticker, states, agent, used)

        def loop(parts: EngineParts, caller: ModelCaller, agent: AgentId) -> TurnLoop:
            return TurnLoop(parts, states, caller, phase, asker, agent)

        self._make_loop = loop
        self._caller = caller(parts, MAIN_AGENT)
        self._delegating = Delegating(parts, states, caller, loop)
        self._hooks = Hooks(parts)
        self._scope: anyio.CancelScope | None = None
        self._telling: anyio.CancelScope | None = None
        """Hooks are being told that the turn is over."""
        self._deserted = False
        self._done = anyio.Event()
        self._done.set()

    @property
    def running(self) -> bool:
        """A turn runs, or is being closed."""
        return self._scope is not None

    def reserve(self) -> None:
        """Claim the turn at once, before its task begins, so that no second one can."""
        self._checkpointing.busy()
        self._scope = anyio.CancelScope()
        self._done = anyio.Event()

    def release(self) -> None:
        """Give a claim back that no turn used."""
        self._scope = None
        self._done.set()
        self._checkpointing.idle()

    @property
    def scope(self) -> anyio.CancelScope:
        """The claimed turn's cancel scope."""
        if self._scope is None:
            self.reserve()
        assert self._scope is not None
        return self._scope

    def interrupt(self, *, deserted: bool = False) -> None:
        """Stop the running turn; it still writes its end. `deserted`: the client is gone, so what waits for the user's
        decision stays open."""
        self._deserted = deserted
        if self._scope is not None:
            self._states.resume()
            self._scope.cancel()
        if self._telling is not None:
            self._telling.cancel()

    def stop_call(self, call_id: CallId) -> bool:
        """Stop one running call; the turn goes on. A delegate that it waits for still reports."""
        return self._delegating.stop_call(call_id) or self._runner.stop(call_id)

    def stop_agent(self, agent: AgentId) -> bool:
        """End one delegate; whoever delegated gets its report and goes on."""
        return self._delegating.stop(agent)

    def _delegates(self, call_id: CallId, agent: AgentId) -> Delegates:
        return self._delegating.of_call(call_id, agent)

    def _loop(self, addressed: UserMessageReceived | None) -> TurnLoop:
        """The main agent's loop; where the user gave the task to a named agent, that one has it."""
        parts, settings = self._parts, self._parts.recorder.state.settings
        self._delegating.by = "agent" if addressed is None else "user"
        if addressed is not None and addressed.source == SOURCE and settings is not None:
            parts = replace(parts, agents={settings.agent: partial(InitAgent, parts.env)})
        elif addressed is not None and settings is not None:
            handing = partial(HandsOver, addressed.to_agent, parts.blobs.text(addressed.text))
            parts = replace(parts, agents={settings.agent: handing})
        return self._make_loop(parts, self._caller, MAIN_AGENT)

    async def ended(self) -> None:
        """Wait until no turn runs."""
        await self._done.wait()

    async def run(self, *, goes_on: bool = False) -> TurnEnd:
        """Run the reserved turn to its end and record it (`goes_on`: it has no message). Raises only `StoreError`."""
        recorder, clock, scope = self._parts.recorder, self._parts.clock, self.scope
        turn = recorder.state.turn + 1
        prompt = recorder.state.pending_prompt
        addressed = prompt if prompt is not None and (prompt.to_agent or prompt.source == SOURCE) else None
        started = clock.monotonic()
        try:
            if not goes_on:
                close_calls(recorder, why=INSTEAD)
            recorder.append(TurnStarted(turn=turn, goes_on=goes_on))
            outcome = await self._bounded(turn, addressed, goes_on=goes_on)
            await self._told(turn, outcome)
            with anyio.CancelScope(shield=True):
                await self._checkpointing.close()
                why = outcome.detail.rstrip(".") or "the turn was stopped"
                close_calls(recorder, self._over(), why=why, printed=self._runner.printed)
                await self._edges("end", turn, outcome.reason)
                duration = round((clock.monotonic() - started) * 1000, 1)
                recorder.append(
                    TurnFinished(
                        turn=turn, reason=outcome.reason, detail=outcome.detail, duration_ms=duration
                    )
                )
                self._states.forget_pause()
                self._states.set(_STATE_AFTER.get(outcome.reason, AgentState.IDLE), outcome.reason)
                self.release()  # whoever reads the event above may begin the next turn at once
                await recorder.commit()
            return outcome.reason
        finally:
            if self._scope is scope:
                self.release()

    async def warm(self) -> None:
        """Do what the first request of a session that is taken up would have to do first."""
        await self._caller.warm()

    def reserve_for(self, command: Compact | RestoreContext) -> None:
        """Claim the turn to reshape the history. Raises `ConfigError` where there is nothing to bring back."""
        if isinstance(command, RestoreContext):
            require_there(self._parts, command)
            self._states.set(AgentState.RUNNING, BRINGING_BACK)
        self.reserve()

    async def reshape(self, command: Compact | RestoreContext) -> None:
        """Summarise the main agent's history inside the reserved turn's cancel scope, or bring some of it back."""
        if isinstance(command, RestoreContext):
            await bring_back(self._parts, command, partial(self._caller.measure, whole=True))
            return
        with self.scope:
            if self._caller.room is not None:
                await self._caller.room.compact("user", command.focus)

    def _over(self) -> list[OpenCall]:
        """The open calls that end with their turn: all, unless the client is gone who could still be asked."""
        recorder = self._parts.recorder
        kept = unanswered(recorder, self._parts.blobs) if self._deserted and self._parts.interactive else ()
        return [call for call in recorder.state.open_calls if call not in kept]

    async def _told(self, turn: int, outcome: Outcome) -> None:
        """Tell hooks how the turn ends; not of one that the user stopped, who wants to be heard now."""
        if outcome.reason == "interrupted" or not self._hooks.wanted("after_turn"):
            return
        with anyio.CancelScope() as scope:
            self._telling = scope
            try:
                more: JsonMap = {"ended": outcome.reason, "detail": outcome.detail}
                await self._hooks.tell("after_turn", more)
            except StoreError as error:
                self._not_stored(error)
            finally:
                self._telling = None

    async def _bounded(self, turn: int, addressed: UserMessageReceived | None, *, goes_on: bool) -> Outcome:
        """The loop inside the turn's cancel scope and its time limit."""
        settings = self._parts.recorder.state.settings
        limit = settings.budgets.timeout_seconds if settings is not None else None
        scope = self.scope
        outcome: Outcome | None = None
        with scope, anyio.move_on_after(limit) as clock_scope:
            outcome = await self._supervised(turn, addressed, goes_on=goes_on)
        if outcome is not None:
            return outcome
        if clock_scope.cancelled_caught and not scope.cancel_called:
            return Outcome("time_limit", f"Stopped after {limit:g} s, the time limit of a turn.")
        return Outcome("interrupted")

    async def _supervised(
        self, turn: int, addressed: UserMessageReceived | None, *, goes_on: bool
    ) -> Outcome:
        """A fault of the engine itself ends the turn and is told; the session goes on."""
        try:
            await self._edges("start", turn, None)
            if not goes_on:
                await self._hooks.tell("after_prompt", {})
            heard = await self._hooks.tell("before_turn", {"goes_on": goes_on})
            if heard.decision == "deny":
                return Outcome("rejected", f"A hook refused the turn: {heard.reason or 'it gave no reason'}.")
            return await self._loop(addressed).run()
        except StoreError as error:
            return self._not_stored(error)
        except Exception as error:  # noqa: BLE001 - a supervisor: the screen survives to show it
            self._parts.recorder.append(
                ErrorRaised(
                    where="turn",
                    message=f"{type(error).__name__}: {error}",
                    hint="Your message is kept. Send it again, or /bug reports this.",
                    detail=traceback.format_exc(),
                )
            )
            return Outcome("error", f"The engine failed: {error}")

    def _not_stored(self, error: StoreError) -> Outcome:
        """Where only that one event could not be stored (a long text, say), the turn still gets its end."""
        try:
            self._emit(ErrorRaised(where="store", message=error.message, hint=error.hint))
        except StoreError:
            raise error from None
        return Outcome("error", error.message)

    def _emit(self, payload: Payload) -> None:
        self._parts.recorder.append(payload)

    async def _edges(self, kind: str, turn: int, reason: TurnEnd | None) -> None:
        recorder = self._parts.recorder
        for middleware in self._parts.middlewares:
            context = TurnContext(
                turn=turn,
                state=recorder.state,
                emit=self._emit,
                reason=reason,
                kind="start" if kind == "start" else "end",
            )
            if kind == "start":
                await middleware.on_turn_start(context)
            else:
                await middleware.on_turn_end(context)
