"""The start and end of turns: cancel scope, time limit, hooks, closing events.

Invariant: at most one turn runs, and `turn.finished` always follows `turn.started`.
"""

import traceback
from functools import partial
from typing import Literal

import anyio

from tui_agent.engine.agent_programs.program_agent import PROGRAMS, ProgramAgent
from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.checkpoints.checkpoint_recorder import CheckpointRecorder
from tui_agent.engine.compaction.pins_and_restores import require_messages, restore_messages
from tui_agent.engine.components import EngineParts
from tui_agent.engine.delta_merge import FlushTimer
from tui_agent.engine.hooks import Hooks
from tui_agent.engine.interruption_cleanup import TURN_ENDED_FIRST, calls_awaiting_approval, close_calls
from tui_agent.engine.mailbox import PendingAnswers
from tui_agent.engine.model.caller import ModelCaller
from tui_agent.engine.questions import Asker
from tui_agent.engine.tools.gate import Gate
from tui_agent.engine.tools.judged_call import RestorableFiles
from tui_agent.engine.tools.phase import ToolPhase
from tui_agent.engine.tools.tool_programs import Background
from tui_agent.engine.tools.tool_runner import CallRunner
from tui_agent.engine.turns.delegates import CallDelegates, DelegateRunner
from tui_agent.engine.turns.engine_agents import INIT_SOURCE, HandoffAgent, InitAgent, ShellFirstAgent
from tui_agent.engine.turns.loop import Outcome, TurnLoop
from tui_agent.engine.turns.plugin_reload import PluginReload
from tui_agent.engine.turns.session_title import title_from_answer
from tui_agent.errors import PluginError, StoreError
from tui_agent.folds.session.state_view import RESTORING_REASON, OpenCall
from tui_agent.folds.session.unfinished_work import PROGRAM_CLOSED
from tui_agent.ports.agent import Agent
from tui_agent.ports.delegate import Delegates
from tui_agent.ports.middleware import TurnContext
from tui_agent.protocol.commands import AnswerQuestion, Compact, DecidePermission, RestoreContext
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.turn import TurnEnd, TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId
from tui_agent.protocol.settings import AgentState
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.units import format_time_limit

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
        ticker: FlushTimer,
        decisions: PendingAnswers[DecidePermission],
        answers: PendingAnswers[AnswerQuestion],
        checkpointing: CheckpointRecorder,
        background: Background,
    ) -> None:
        self._parts = parts
        self._states = states
        self._checkpointing = checkpointing
        self.reload = PluginReload(parts, background.programs, lambda: self.is_running, self.wait_until_ended)
        asker = Asker(parts, states, answers)
        gate = Gate(parts, states, decisions, RestorableFiles(parts, checkpointing))
        self._runner = CallRunner(parts, ticker, asker, checkpointing, background, gate, self._delegates_for)
        phase = ToolPhase(parts, states, gate, self._runner)

        used_call_ids: set[CallId] = set()

        def make_caller(parts: EngineParts, agent: AgentId) -> ModelCaller:
            return ModelCaller(parts, ticker, states, agent, used_call_ids)

        def make_loop(parts: EngineParts, caller: ModelCaller, agent: AgentId) -> TurnLoop:
            return TurnLoop(parts, states, caller, phase, asker, agent, self.reload)

        self._make_loop = make_loop
        self._caller = make_caller(parts, MAIN_AGENT)
        self._delegating = DelegateRunner(parts, states, make_caller, make_loop, self._runner.stopped_outputs)
        self._hooks = Hooks(parts)
        self._scope: anyio.CancelScope | None = None
        self._hooks_scope: anyio.CancelScope | None = None
        """The cancel scope of the hooks that run after the turn has ended."""
        self.command_scopes: dict[anyio.CancelScope, str] = {}
        """Maps the cancel scope of each running slash command to its name, such as `/standup`."""
        self._client_is_gone = False
        self._done = anyio.Event()
        self._done.set()

    @property
    def is_running(self) -> bool:
        """True while a turn runs or is being closed."""
        return self._scope is not None

    def reserve(self) -> None:
        """Reserve the next turn before its task starts, so that no second turn can start."""
        self._checkpointing.stop_maintenance()
        self._scope = anyio.CancelScope()
        self._done = anyio.Event()

    def release(self) -> None:
        """End the turn's reservation, so that another turn can start."""
        self._scope = None
        self._done.set()
        self._checkpointing.allow_maintenance()

    @property
    def scope(self) -> anyio.CancelScope:
        """The cancel scope of the reserved turn (see `reserve`)."""
        if self._scope is None:
            self.reserve()
        assert self._scope is not None
        return self._scope

    def interrupt(self, *, client_is_gone: bool = False) -> None:
        """Stop the running turn and slash commands. The turn still records its end.

        `client_is_gone`: True if the client has disconnected. Calls that wait for approval then stay open.
        """
        self._client_is_gone = client_is_gone
        if self._scope is not None:
            self._states.resume()
            self._scope.cancel()
        if self._hooks_scope is not None:
            self._hooks_scope.cancel()
        for scope in self.command_scopes:
            scope.cancel()

    def stop_call(self, call_id: CallId) -> bool:
        """Stop a running call; the turn continues."""
        return self._delegating.stop_call(call_id) or self._runner.stop(call_id)

    def stop_agent(self, agent: AgentId) -> bool:
        """Stop a delegate; the agent that started it continues."""
        return self._delegating.stop(agent)

    def _delegates_for(self, call_id: CallId, agent: AgentId) -> Delegates:
        return CallDelegates(self._delegating, call_id, agent)

    async def _run_loop(self, addressed: UserMessageReceived | None) -> Outcome:
        """Run the loop of a turn.

        `addressed`: a user's message that a special agent answers first, for example `/init`. None for other turns.
        """
        parts, settings = self._parts, self._parts.recorder.state.settings
        self._delegating.requested_by = "agent" if addressed is None else "user"
        first: Agent | None = None
        if settings is not None and settings.agent in PROGRAMS:
            make_program = partial(ProgramAgent, settings.agent, parts, self._checkpointing)
            parts = parts.with_agents({**parts.agents, settings.agent: make_program})
        if addressed is not None and addressed.source == INIT_SOURCE:
            first = InitAgent(parts.env)
        elif addressed is not None and addressed.shell and settings is not None:
            first = ShellFirstAgent(addressed.shell, parts.agents[settings.agent])
        elif addressed is not None:
            first = HandoffAgent(addressed.to_agent, parts.blobs.read_text(addressed.text))
        return await self._make_loop(parts, self._caller, MAIN_AGENT).run(first)

    async def wait_until_ended(self) -> None:
        """Wait until no turn runs."""
        await self._done.wait()

    async def run(self, *, continues: bool = False) -> TurnEnd:
        """Run the reserved turn, and record its end. Raise `StoreError` if recording fails.

        `continues`: True for a turn without a new message.
        """
        recorder, clock, scope = self._parts.recorder, self._parts.clock, self.scope
        turn = recorder.state.turn + 1
        prompt = recorder.state.pending_prompt
        is_addressed = prompt is not None and (
            prompt.to_agent or prompt.shell or prompt.source == INIT_SOURCE
        )
        addressed = prompt if is_addressed else None
        started = clock.monotonic()
        try:
            # A new message ends the calls that still wait for approval, for example since the last run.
            if not continues:
                close_calls(recorder, why=TURN_ENDED_FIRST)
            recorder.append(TurnStarted(turn=turn, is_continuation=continues))
            outcome = await self._run_limited(turn, addressed, continues=continues)
            # Hooks run before the turn's last checkpoint, because they can change files.
            await self._tell_hooks(outcome)
            with anyio.CancelScope(shield=True):
                await self._checkpointing.end_turn()
                why = outcome.detail.rstrip(".") or "the turn was stopped"
                outputs = self._runner.stopped_outputs
                close_calls(recorder, self._calls_to_close(), why=why, outputs=outputs)
                await self._notify_middlewares("end", turn, outcome.reason)
                if outcome.reason == "finished":
                    title_from_answer(recorder, prompt)
                duration = round((clock.monotonic() - started) * 1000, 1)
                recorder.append(
                    TurnFinished(
                        turn=turn, reason=outcome.reason, detail=outcome.detail, duration_ms=duration
                    )
                )
                self._states.cancel_pause()
                self._states.set(_STATE_AFTER.get(outcome.reason, AgentState.STOPPED), outcome.reason)
                self.release()  # before the await: a client that reads `turn.finished` may start the next turn immediately
                await recorder.commit()
            return outcome.reason
        finally:
            if self._scope is scope:  # otherwise the next turn is already reserved
                self.release()

    async def count_history(self) -> None:
        """Count the tokens of a resumed session's history before the first request needs the count."""
        await self._caller.count_history()

    def reserve_for(self, command: Compact | RestoreContext) -> None:
        """Reserve the next turn for a compaction or a restore. Raise `ConfigError` if there is nothing to restore."""
        if isinstance(command, RestoreContext):
            require_messages(self._parts, command)
            self._states.set(AgentState.RUNNING, RESTORING_REASON)
        self.reserve()

    async def change_context(self, command: Compact | RestoreContext) -> None:
        """Compact the main agent's history, or restore messages."""
        if isinstance(command, RestoreContext):
            await restore_messages(self._parts, command, partial(self._caller.measure, unlimited=True))
            return
        with self.scope:
            if self._caller.compactor is not None:
                await self._caller.compactor.compact("user", command.focus)

    def _calls_to_close(self) -> list[OpenCall]:
        """Return the open calls that end with the turn.

        Calls that wait for approval stay open if the client has disconnected: the next run asks again.
        """
        recorder, open_calls = self._parts.recorder, self._parts.recorder.state.open_calls
        if not (self._client_is_gone and self._parts.interactive):
            return list(open_calls)
        still_waiting = calls_awaiting_approval(recorder, self._parts.blobs)
        return [call for call in open_calls if call not in still_waiting]

    async def _tell_hooks(self, outcome: Outcome) -> None:
        """Run the hooks for the turn's end."""
        if outcome.reason == "interrupted" or not self._hooks.has_hooks("after_turn"):
            return
        # The turn's own scope has ended, so stopping these hooks needs another one.
        with anyio.CancelScope() as scope:
            self._hooks_scope = scope
            try:
                facts: JsonMap = {"ended": outcome.reason, "detail": outcome.detail}
                await self._hooks.run_hooks("after_turn", facts)
            except StoreError as error:
                self._report_store_error(error)
            finally:
                self._hooks_scope = None

    async def _run_limited(
        self, turn: int, addressed: UserMessageReceived | None, *, continues: bool
    ) -> Outcome:
        state = self._parts.recorder.state
        limit = state.settings.budgets.timeout_seconds if state.settings is not None else None
        seconds = self._parts.turn_seconds if limit is None else max(0.0, limit - state.used.seconds)
        scope = self.scope
        outcome: Outcome | None = None
        with scope, anyio.move_on_after(seconds) as clock_scope:
            outcome = await self._run_supervised(turn, addressed, continues=continues)
        if outcome is not None:
            return outcome
        # If the user stopped the turn at the same moment, that is the reason.
        if clock_scope.cancelled_caught and seconds is not None and not scope.cancel_called:
            owner = "a turn outside the app" if limit is None else "this session"
            return Outcome(
                "time_limit",
                f"Stopped after {format_time_limit(limit or seconds)}, the limit of {owner}. --timeout-seconds raises it.",
            )
        return Outcome("interrupted", PROGRAM_CLOSED if self._client_is_gone else "")

    async def _run_supervised(
        self, turn: int, addressed: UserMessageReceived | None, *, continues: bool
    ) -> Outcome:
        """Run the start hooks and the loop of a turn. If an error ends the turn, return it as an outcome."""
        try:
            await self._notify_middlewares("start", turn, None)
            if not continues:
                await self._hooks.run_hooks("after_prompt", {})
            verdict = await self._hooks.run_hooks("before_turn", {"is_continuation": continues})
            if verdict.decision == "deny":
                return Outcome(
                    "rejected", f"A hook refused the turn: {verdict.reason or 'it gave no reason'}."
                )
            return await self._run_loop(addressed)
        except StoreError as error:
            return self._report_store_error(error)
        except PluginError as error:
            self._emit(ErrorRaised(where="plugin", message=error.message, hint=error.hint))
            return Outcome("error", error.message)
        except Exception as error:  # noqa: BLE001 - a supervisor: the session survives to show the error
            self._parts.recorder.append(
                ErrorRaised(
                    where="turn",
                    message=f"{type(error).__name__}: {error}",
                    hint="Your message is saved. Send it again, or report this with /bug.",
                    detail=traceback.format_exc(),
                )
            )
            return Outcome("error", f"The engine failed: {error}")

    def _report_store_error(self, error: StoreError) -> Outcome:
        """Record a store error and return the end of the turn. If the error cannot be recorded, raise it."""
        try:
            self._emit(ErrorRaised(where="store", message=error.message, hint=error.hint))
        except StoreError:
            raise error from None
        return Outcome("error", error.message)

    def _emit(self, payload: Payload) -> None:
        self._parts.recorder.append(payload)

    async def _notify_middlewares(
        self, kind: Literal["start", "end"], turn: int, reason: TurnEnd | None
    ) -> None:
        for middleware in self._parts.middlewares:
            notify = middleware.on_turn_start if kind == "start" else middleware.on_turn_end
            await notify(TurnContext(turn, self._parts.recorder.state, self._emit, reason, kind))
