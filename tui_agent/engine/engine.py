"""The server of a session: takes commands one at a time, checks them, and runs them.

Invariant: an exception in the engine never ends the server.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import anyio
from anyio.abc import TaskGroup

from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.checkpoints.checkpoint_recorder import CLOSE_TIMEOUT_S, CheckpointRecorder
from tui_agent.engine.checkpoints.rewind import Rewind
from tui_agent.engine.compaction.pins_and_restores import pin_messages
from tui_agent.engine.components import EngineParts
from tui_agent.engine.delta_merge import FlushTimer
from tui_agent.engine.hooks import NO_VERDICT, HookVerdict
from tui_agent.engine.input.command_checks import (
    Refusal,
    check_can_continue,
    check_command,
    refuse_failed_move,
)
from tui_agent.engine.input.prompt_hooks import PromptHooks
from tui_agent.engine.input.prompt_images import load_attachments
from tui_agent.engine.input.queued_messages import (
    prompt_from_queue,
    prompt_from_steering,
    queue_from_steering,
    steering_from_queue,
)
from tui_agent.engine.input.slash_commands import SlashCommands
from tui_agent.engine.input.user_shell import begin_user_shell, run_user_shell
from tui_agent.engine.interruption_cleanup import TURN_ENDED_FIRST, close_calls
from tui_agent.engine.mailbox import Mailbox, PendingAnswers
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.setting_commands import SettingCommand, apply_setting, revoke_rule
from tui_agent.engine.tools.jobs import JobManager
from tui_agent.engine.tools.tool_programs import Background, ProgramKeeper
from tui_agent.engine.turns.engine_agents import INIT_SOURCE, require_role
from tui_agent.engine.turns.session_title import record_message
from tui_agent.engine.turns.turns import Turns
from tui_agent.engine.undo_commands import HeadMoveCommand, HeadMoves
from tui_agent.errors import CheckpointError, ConfigError, StoreError, TuiAgentError, UsageError
from tui_agent.folds.session.state_view import MENTIONS_REASON, SessionStateView
from tui_agent.ports.environment import OutputWidthSetter
from tui_agent.protocol import commands
from tui_agent.protocol.commands import Command
from tui_agent.protocol.events.session import CommandRejected, SessionTitled
from tui_agent.protocol.events.turn import UserMessageReceived, UserQueued, UserSteered, UserUnqueued
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.settings import AgentState

MessageCommand: TypeAlias = commands.SubmitPrompt | commands.Steer | commands.Queue


class Engine:
    """The engine of one session. `submit` can be called at any time; `serve` runs until `Close`."""

    def __init__(self, parts: EngineParts, on_trouble: Callable[[TuiAgentError], None]) -> None:
        self._parts = parts
        self.policy = parts.policy
        self._on_trouble = on_trouble
        self._mailbox: Mailbox[Command] = Mailbox()
        self._ticker = FlushTimer()
        self._states = StateKeeper(parts.recorder)
        self._decisions: PendingAnswers[commands.DecidePermission] = PendingAnswers()
        self._answers: PendingAnswers[commands.AnswerQuestion] = PendingAnswers()
        self._is_closing = self._client_is_gone = False
        self._checkpointing = CheckpointRecorder(
            parts.recorder, parts.blobs, parts.checkpoints, parts.clock, parts.find_changes_by_others
        )
        checkpoint_ended_job = partial(self._checkpointing.checkpoint_jobs, if_idle=True)
        jobs = JobManager(parts, self._ticker, on_trouble, partial(self._guard_async, checkpoint_ended_job))
        self._background = Background(jobs, ProgramKeeper(parts))
        self._turns = Turns(
            parts,
            self._states,
            self._ticker,
            self._decisions,
            self._answers,
            self._checkpointing,
            self._background,
        )
        self._moves = HeadMoves(Rewind(parts, self._checkpointing, jobs), self._turns, self._states, jobs)
        self._prompt_hooks = PromptHooks(parts)
        self.slash_commands = SlashCommands(parts, self._turns, self._states, self._begin_turn, self._guard)

    def submit(self, command: Command) -> None:
        """Queue a user's command."""
        self._mailbox.post(command)

    async def serve(self) -> None:
        """Run commands until `Close`, then stop the turn and close everything."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._ticker.run)
            group.start_soon(self._checkpointing.run_maintenance)
            self._background.begin(group)
            self._guard(partial(self._states.set, AgentState.IDLE))
            if self._checkpointing.load_uncheckpointed():
                group.start_soon(self._take_baseline)
            group.start_soon(self._guard_async, self._prompt_hooks.session_start)
            group.start_soon(self._guard_async, self._turns.count_history)
            self._start_queued_turn(group)
            async for command in self._mailbox.commands():
                if isinstance(command, commands.Close):
                    self._is_closing, self._client_is_gone = True, command.reason == "signal"
                    self._mailbox.close()
                    continue
                self._guard(partial(self._carry_out, command, group))
            # The order matters: turn and jobs end first, so that the last checkpoint has their changes and the log their
            # ends before the hooks run and the store closes.
            self._turns.interrupt(client_is_gone=self._client_is_gone)
            await self._turns.wait_until_ended()
            await self._background.end_all()
            await self._guard_async(self._checkpointing.checkpoint_jobs)
            # After a disconnect, calls that wait for approval stay open: the next run asks again.
            if not self._client_is_gone:
                self._guard(partial(close_calls, self._parts.recorder, why=TURN_ENDED_FIRST))
            await self._guard_async(partial(self._prompt_hooks.session_end, abandoned=self._client_is_gone))
            stopped = self._client_is_gone or self._parts.recorder.state.last_turn_end == "interrupted"
            unattended = not self._parts.interactive and not stopped
            await self._checkpointing.aclose(unattended=unattended)
            group.cancel_scope.cancel()

    def _guard(self, act: Callable[[], object]) -> None:
        """Run `act`; report a `StoreError` to the user instead of raising it."""
        with _reporting_store_errors(self._on_trouble):
            act()

    async def _guard_async(self, act: Callable[[], Awaitable[object]]) -> None:
        """Await `act`; report a `StoreError` to the user instead of raising it."""
        with _reporting_store_errors(self._on_trouble):
            await act()

    def _carry_out(self, command: Command, group: TaskGroup) -> None:
        # A message that arrives during an undo belongs to the history after it.
        if self._moves.end is not None and isinstance(command, MessageCommand):
            carry_out = partial(self._carry_out, command, group)
            group.start_soon(self._moves.call_after, partial(self._guard, carry_out))
            return
        command, state = self.slash_commands.as_run_command(command), self._parts.recorder.state
        # A preview of a revert changes nothing, so an undo waits for its end instead of being refused.
        waits_for_plan = self._moves.is_preview and isinstance(command, HeadMoveCommand)
        running = self._turns.is_running and not waits_for_plan
        if isinstance(command, commands.Interrupt):
            running = running or bool(self._turns.command_scopes)
        reason = check_command(command, state, running, self._decisions, self._answers)
        if reason is not None:
            self._reject(command, reason)
            return
        try:
            self._dispatch(command, group)
        except ConfigError as error:
            self._reject(command, Refusal(error.message, error.hint))

    def _reject(self, command: Command, refused: Refusal) -> None:
        rejected = CommandRejected(
            command=command.kind, reason=refused.reason, hint=refused.hint, limit=refused.limit
        )
        self._parts.recorder.append(rejected, cause=command.id)

    def _dispatch(self, command: Command, group: TaskGroup) -> None:
        match command:
            case _ if isinstance(command, MessageCommand):
                self._handle_message(command, group)
            case commands.ContinueTurn():
                self._continue_turn(command, group)
            case commands.WriteGuide():
                self._begin_turn(UserMessageReceived(text="/init", source=INIT_SOURCE), group, command)
            case commands.Delegate(agent=name, text=text):
                require_role(self._parts, name)
                self._begin_turn(UserMessageReceived(text=text, to_agent=name), group, command)
            case commands.Unqueue(queue_id=queue_id):
                self._parts.recorder.append(UserUnqueued(queue_id=queue_id), cause=command.id)
            case commands.SendQueued(queue_id=queue_id):
                self._send_queued(queue_id, group, command)
            case commands.Interrupt(scope="call", call_id=call_id) if call_id is not None:
                self._turns.stop_call(call_id)
            case commands.Interrupt(scope="agent", agent=agent) if agent is not None:
                self._turns.stop_agent(agent)
            case commands.Interrupt():
                self._turns.interrupt()
            case commands.Pause():
                self._states.pause()
            case commands.Resume():
                self._states.resume()
            case commands.DecidePermission(request_id=request_id):
                self._decisions.answer(request_id, command)
            case commands.AnswerQuestion(question_id=question_id):
                self._answers.answer(question_id, command)
            case commands.RevokeRule():
                revoke_rule(self._parts, command)
            case commands.Compact() | commands.RestoreContext():
                self._turns.reserve_for(command)
                group.start_soon(self._change_context, command, group)
            case commands.PinContext():
                pin_messages(self._parts, command)
            case commands.RunUserShell():
                close_calls(self._parts.recorder, why=TURN_ENDED_FIRST)
                begin_user_shell(self._parts, command)
                self._turns.reserve()
                group.start_soon(self._serve_user_shell, command, group)
            case _ if isinstance(command, HeadMoveCommand):
                earlier_move = self._moves.end
                if earlier_move is None:
                    self._moves.reserve(command)
                group.start_soon(self._move_head, command, earlier_move, group)
            case commands.SetOutputWidth(columns=columns):
                if isinstance(self._parts.env, OutputWidthSetter):
                    self._parts.env.output_columns = columns
            case commands.StopJob(job_id=job_id):
                group.start_soon(self._background.jobs.stop_for_user, job_id)
            case commands.Rename() | commands.RecordResult():
                self._parts.recorder.append(_recorded_event(command), cause=command.id)
            case commands.RunCommand():
                group.start_soon(self._serve_slash_command, command, group)
            case commands.ReloadPlugins():
                group.start_soon(self._guard_async, partial(self._turns.reload.run, command))
            case _ if isinstance(command, SettingCommand):
                apply_setting(self._parts, command)

    def _handle_message(self, command: MessageCommand, group: TaskGroup) -> None:
        recorder = self._parts.recorder
        place = command.place if isinstance(command, commands.Queue) else None
        comes_after_others = bool(place and recorder.state.queue)
        sent: dict[str, Any] = {
            "text": command.text,
            "attachments": load_attachments(self._parts.blobs, command.attachments),
            "own_words": command.own_words,
            "typed_mentions": command.typed_mentions,
        }
        if not (
            self._turns.is_running or recorder.state.running_command or comes_after_others or self._is_closing
        ):
            self._begin_turn(UserMessageReceived(**sent), group, command)
        elif isinstance(command, commands.Steer) and _is_steerable(recorder.state):
            self._steer(UserSteered(**sent), group, command)
        else:
            queue_id = self._parts.ids.request()
            recorder.append(UserQueued(queue_id=queue_id, place=place, **sent), cause=command.id)

    def _continue_turn(self, command: commands.ContinueTurn, group: TaskGroup) -> None:
        recorder = self._parts.recorder
        forked = recorder.state.fork_changes
        if forked is not None and forked.message is not None:
            self._begin_turn(UserMessageReceived(text=forked.message), group, command)
            return
        reason = check_can_continue(recorder.messages())
        if reason is not None and not recorder.state.open_calls:
            self._reject(command, reason)
            return
        recorder.cause = command.id
        self._run_turn(group, continues=recorder.state.pending_prompt is None)

    def _send_queued(self, queue_id: RequestId, group: TaskGroup, command: Command) -> None:
        recorder = self._parts.recorder
        queued = next(message for message in recorder.state.queue if message.queue_id == queue_id)
        if not self._turns.is_running:
            self._begin_turn(prompt_from_queue(queued), group, command)
            return
        recorder.append(UserUnqueued(queue_id=queue_id), cause=command.id)
        self._steer(steering_from_queue(queued), group, command)

    def _steer(self, message: UserSteered, group: TaskGroup, command: Command) -> None:
        if self._prompt_hooks.can_record_at_once(message):
            self._parts.recorder.append(message, cause=command.id)
        else:
            group.start_soon(self._steer_after_hooks, message, group, command)

    async def _steer_after_hooks(self, message: UserSteered, group: TaskGroup, command: Command) -> None:
        """Run the hooks, then add the message to the running turn."""
        recorder = self._parts.recorder
        try:
            hook_verdict = await self._prompt_hooks.ask_hooks(message.text)
            if hook_verdict.decision != "deny":
                message = await self._prompt_hooks.add_mentions(message)
        except StoreError as error:
            self._on_trouble(error)
            return
        except anyio.get_cancelled_exc_class():  # the session closes: keep the user's message
            queued = queue_from_steering(message, self._parts.ids.request())
            self._guard(partial(recorder.append, queued, cause=command.id))
            raise
        if hook_verdict.decision == "deny":
            self._guard(partial(self._reject_by_hook, hook_verdict, command, None))
        elif self._turns.is_running:
            self._guard(partial(recorder.append, message, cause=command.id))
            self._guard(partial(self._prompt_hooks.record, hook_verdict))
        else:
            self._guard(
                partial(self._start_turn, prompt_from_steering(message), group, command, hook_verdict)
            )

    def _begin_turn(self, message: UserMessageReceived, group: TaskGroup, command: Command | None) -> None:
        # Changes without a checkpoint get one first, or they would count as changes of the new turn.
        needs_checkpoint = self._checkpointing.has_uncheckpointed_changes
        if not needs_checkpoint and self._prompt_hooks.can_record_at_once(message):
            self._start_turn(message, group, command)
        else:
            # Reserved now, because another message could start a turn while the hooks run.
            self._turns.reserve()
            group.start_soon(self._begin_after_hooks, message, group, command)

    async def _begin_after_hooks(
        self, message: UserMessageReceived, group: TaskGroup, command: Command | None
    ) -> None:
        """Run the hooks, read the mentioned files, then start a turn."""
        activity = self._prompt_hooks.pending_hook or MENTIONS_REASON
        self._guard(partial(self._states.set, AgentState.RUNNING, activity))
        hook_verdict: HookVerdict | None = None
        try:
            with self._turns.scope as scope:
                if self._checkpointing.has_uncheckpointed_changes:
                    await self._take_baseline()
                hook_verdict = await self._prompt_hooks.ask_hooks(message.text)
                if hook_verdict.decision != "deny":
                    message = await self._prompt_hooks.add_mentions(message)
        except StoreError as error:
            self._on_trouble(error)
        finally:
            self._turns.release()
        if hook_verdict is not None and hook_verdict.decision != "deny" and not scope.cancel_called:
            self._guard(partial(self._start_turn, message, group, command, hook_verdict))
            return
        self._guard(partial(self._reject_by_hook, hook_verdict, command, message.queue_id))
        self._guard(partial(self._states.set, AgentState.IDLE))
        self._start_queued_turn(group)

    def _reject_by_hook(
        self, hook_verdict: HookVerdict | None, command: Command | None, queue_id: RequestId | None
    ) -> None:
        cause = command.id if command is not None else None
        if queue_id is not None:
            self._parts.recorder.append(UserUnqueued(queue_id=queue_id), cause=cause)
        if hook_verdict is not None:
            self._prompt_hooks.record(hook_verdict)
        kind = command.kind if command is not None else "queue"
        self._parts.recorder.append(self._prompt_hooks.rejection(hook_verdict, kind), cause=cause)

    def _start_turn(
        self,
        message: UserMessageReceived,
        group: TaskGroup,
        command: Command | None,
        hook_verdict: HookVerdict = NO_VERDICT,
    ) -> None:
        recorder = self._parts.recorder
        recorder.cause = command.id if command is not None else None
        close_calls(recorder, why=TURN_ENDED_FIRST)
        record_message(recorder, message)
        self._prompt_hooks.record(hook_verdict)
        self._run_turn(group, continues=False)

    def _run_turn(self, group: TaskGroup, *, continues: bool) -> None:
        self._turns.reserve()
        recorder = self._parts.recorder
        self._checkpointing.turn_start = recorder.state.seq if continues else recorder.branches.undo_to
        group.start_soon(self._take_baseline)
        group.start_soon(partial(self._serve_turn, group, continues=continues))

    async def _serve_turn(self, group: TaskGroup, *, continues: bool) -> None:
        await self._guard_async(partial(self._turns.run, continues=continues))
        self._start_queued_turn(group)

    def _start_queued_turn(self, group: TaskGroup, known: set[RequestId] | None = None) -> None:
        """Start a turn with the oldest queued message. Do nothing if something runs, or if the user stopped the last
        turn or `!` command.

        `known`: the ids of the messages that were already queued when the last command began. If others were queued
        since then, start the turn even after a stop.
        """
        state = self._parts.recorder.state
        if not state.queue or self._turns.is_running or state.running_command or self._is_closing:
            return
        has_new = known is not None and not _queued_ids(self._parts.recorder) <= known
        if not has_new and (state.shell_stopped or state.last_turn_end not in (None, "finished")):
            return
        self._guard(partial(self._begin_turn, prompt_from_queue(state.queue[0]), group, None))

    async def _serve_user_shell(self, command: commands.RunUserShell, group: TaskGroup) -> None:
        """Run a `!` command, then send messages that were queued meanwhile, unless the user stopped the command."""
        before = _queued_ids(self._parts.recorder)
        with _reporting_store_errors(self._on_trouble):
            try:
                with self._turns.scope as scope:
                    await self._checkpointing.checkpoint_jobs()
                    await run_user_shell(self._parts, self._states, self._ticker, command)
                    await self._checkpointing.checkpoint_workspace(by_user=True)
                if scope.cancel_called:  # The files of a stopped command must not count as a running job's.
                    with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
                        await self._checkpointing.checkpoint_workspace(by_user=True)
            except CheckpointError as fault:
                self._checkpointing.report_fault(fault)
            finally:
                self._turns.release()  # before the state: a client that reads `idle` may send the next command
                self._guard(partial(self._states.set, AgentState.IDLE))
        self._start_queued_turn(group, None if scope.cancel_called else before)

    async def _serve_slash_command(self, command: commands.RunCommand, group: TaskGroup) -> None:
        """Run a slash command, then send messages that were queued meanwhile."""
        before = _queued_ids(self._parts.recorder)
        await self._guard_async(partial(self.slash_commands.run, command, group))
        self._start_queued_turn(group, before)

    async def _change_context(
        self, command: commands.Compact | commands.RestoreContext, group: TaskGroup
    ) -> None:
        """Compact or restore the context at the user's request, then send messages that were queued meanwhile."""
        self._parts.recorder.cause = command.id
        before = _queued_ids(self._parts.recorder)
        try:
            await self._guard_async(partial(self._turns.change_context, command))
        finally:
            self._turns.release()
            self._guard(partial(self._states.set, AgentState.IDLE))
        self._start_queued_turn(group, before)

    async def _take_baseline(self) -> None:
        with _reporting_store_errors(self._on_trouble):
            try:
                await self._checkpointing.begin()
            except CheckpointError as fault:
                self._checkpointing.report_fault(fault)

    async def _move_head(
        self, command: HeadMoveCommand, earlier_move: anyio.Event | None, group: TaskGroup
    ) -> None:
        if earlier_move is not None:
            await earlier_move.wait()
            if self._turns.is_running:
                self._guard(partial(self._carry_out, command, group))  # which rejects it
                return
            self._moves.reserve(command)
        self._parts.recorder.cause = command.id
        try:
            await self._moves.run(command)
        except (UsageError, CheckpointError) as error:
            self._guard(partial(self._reject, command, refuse_failed_move(error)))
        except StoreError as error:
            self._on_trouble(error)
        finally:
            self._guard(partial(self._states.set, AgentState.IDLE))


@contextmanager
def _reporting_store_errors(report: Callable[[TuiAgentError], None]) -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        report(error)


def _queued_ids(recorder: Recorder) -> set[RequestId]:
    return {message.queue_id for message in recorder.state.queue}


def _recorded_event(command: commands.Rename | commands.RecordResult) -> Payload:
    if isinstance(command, commands.RecordResult):
        return command.result
    return SessionTitled(title=command.title, titled_by="user")


def _is_steerable(state: SessionStateView) -> bool:
    """Return True if a new message can join the running turn: no slash command, `!` command or compaction is running."""
    return state.shell is None and not state.is_compacting and not state.running_command
