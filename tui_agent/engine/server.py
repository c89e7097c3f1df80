"""Serves a session: commands from the mailbox, one at a time, checked against the folded state.

Invariant: a command either leads to events that carry its id as `cause`, or to `command.rejected`; an exception of
the engine never ends the serving.
"""

from collections.abc import Awaitable, Callable
from functools import partial

import anyio
from anyio.abc import TaskGroup

from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.attachments import attachments
from tui_agent.engine.checkpoints.recorder import Checkpointing
from tui_agent.engine.checkpoints.rewind import Rewind
from tui_agent.engine.cleanup import close_calls
from tui_agent.engine.command_checks import Refusal, nothing_to_answer, refusal
from tui_agent.engine.compaction.commands import pin
from tui_agent.engine.components import EngineParts
from tui_agent.engine.delegates.handoff import require_role
from tui_agent.engine.mailbox import Mailbox, Waiting
from tui_agent.engine.model.delta_merge import Ticker
from tui_agent.engine.model.init_agent import SOURCE
from tui_agent.engine.open_calls import INSTEAD
from tui_agent.engine.prompt_hooks import HeardPrompts
from tui_agent.engine.settings import apply_setting, revoke_rule
from tui_agent.engine.title import title_after
from tui_agent.engine.tools.hooks import NOTHING, Heard
from tui_agent.engine.tools.jobs import Jobs
from tui_agent.engine.turns import Turns
from tui_agent.engine.user_shell import begin_user_shell, run_user_shell
from tui_agent.errors import CheckpointError, ConfigError, StoreError, TuiAgentError, UsageError
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.protocol.commands import (
    AnswerQuestion,
    Close,
    Command,
    Compact,
    DecidePermission,
    Delegate,
    GoOn,
    Interrupt,
    Pause,
    PinContext,
    PlanRevert,
    Queue,
    Redo,
    Rename,
    RestoreContext,
    Resume,
    Revert,
    RevokeRule,
    RunUserShell,
    SendQueued,
    SetAgent,
    SetBudgets,
    SetContextMode,
    SetEffort,
    SetMapChoice,
    SetModel,
    SetPolicy,
    SetRepoMap,
    Steer,
    StopJob,
    SubmitPrompt,
    Undo,
    Unqueue,
    WriteGuide,
)
from tui_agent.protocol.events.session import CommandRejected, SessionTitled
from tui_agent.protocol.events.turn import UserMessageReceived, UserQueued, UserSteered, UserUnqueued
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.settings import AgentState

_GOING = {
    "revert": "going back",
    "undo": "going back",
    "redo": "going forward",
    "plan_revert": "looking at the files",
}


class Engine:
    """One session's engine. `submit` is safe at any time; `serve` runs until `Close`."""

    def __init__(self, parts: EngineParts, on_trouble: Callable[[TuiAgentError], None]) -> None:
        self._parts = parts
        self._on_trouble = on_trouble
        self._mailbox = Mailbox()
        self._ticker = Ticker()
        self._states = StateKeeper(parts.recorder)
        self._decisions: Waiting[DecidePermission] = Waiting()
        self._answers: Waiting[AnswerQuestion] = Waiting()
        self._closing = self._deserted = False
        self._plan: anyio.Event | None = None
        """Set once the look at the files that is at work has ended: whoever decided meanwhile goes behind it."""
        self._checkpointing = Checkpointing(
            parts.recorder,
            parts.blobs,
            parts.checkpoints,
            parts.clock,
        )
        self._jobs = Jobs(parts, self._ticker, on_trouble)
        self._turns = Turns(
            parts,
            self._states,
            self._ticker,
            self._decisions,
            self._answers,
            self._checkpointing,
            self._jobs,
        )
        self._rewind = Rewind(parts, self._checkpointing)
        self._heard = HeardPrompts(parts)

    def submit(self, command: Command) -> None:
        """Enqueue a command."""
        self._mailbox.put(command)

    async def serve(self) -> None:
        """Carry out commands until `Close`; then stop the turn, and return once all is closed."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._ticker.run)
            group.start_soon(self._checkpointing.run)
            self._jobs.begin(group)
            self._guard(partial(self._states.set, AgentState.IDLE))
            if self._checkpointing.take_up():
                group.start_soon(self._baseline)
            group.start_soon(self._edge, self._heard.session_start)
            group.start_soon(self._edge, self._turns.warm)
            self._next_in_queue(group)
            async for command in self._mailbox.commands():
                if isinstance(command, Close):
                    self._closing, self._deserted = True, command.reason == "signal"
                    self._mailbox.close()
                    continue
                self._guard(partial(self._carry_out, command, group))
            self._turns.interrupt(deserted=self._deserted)
            await self._turns.ended()
            await self._jobs.end_all("session")
            if not self._deserted:
                self._guard(partial(close_calls, self._parts.recorder, why=INSTEAD))
            await self._edge(partial(self._heard.session_end, abandoned=self._deserted))
            stopped = self._deserted or self._parts.recorder.state.last_turn_end == "interrupted"
            unattended = not self._parts.interactive and not stopped
            await self._checkpointing.aclose(unattended=unattended)
            group.cancel_scope.cancel()

    def _guard(self, act: Callable[[], object]) -> None:
        """What the store cannot take is told past it; everything else goes on."""
        try:
            act()
        except StoreError as error:
            self._on_trouble(error)

    async def _edge(self, tell: Callable[[], Awaitable[object]]) -> None:
        try:
            await tell()
        except StoreError as error:
            self._on_trouble(error)

    def _carry_out(self, command: Command, group: TaskGroup) -> None:
        state = self._parts.recorder.state
        behind_plan = self._plan is not None and isinstance(command, Revert | Undo | Redo | PlanRevert)
        running = self._turns.running and not behind_plan
        reason = refusal(command, state, running, self._decisions, self._answers)
        if reason is not None:
            self._reject(command, reason)
            return
        try:
            self._dispatch(command, group)
        except ConfigError as error:
            self._reject(command, Refusal(error.message, error.hint))

    def _reject(self, command: Command, why: Refusal) -> None:
        rejected = CommandRejected(command=command.kind, reason=why.reason, hint=why.hint, limit=why.limit)
        self._parts.recorder.append(rejected, cause=command.id)

    def _dispatch(self, command: Command, group: TaskGroup) -> None:
        match command:
            case SubmitPrompt() | Steer() | Queue():
                self._message(command, group)
            case GoOn():
                self._go_on(command, group)
            case WriteGuide():
                self._begin(UserMessageReceived(text="/init", source=SOURCE), group, command)
            case Delegate(agent=name, text=text):
                require_role(self._parts, name)
                self._begin(UserMessageReceived(text=text, to_agent=name), group, command)
            case Unqueue(queue_id=queue_id):
                self._parts.recorder.append(UserUnqueued(queue_id=queue_id), cause=command.id)
            case SendQueued(queue_id=queue_id):
                self._send_queued(queue_id, group, command)
            case Interrupt(scope="call", call_id=call_id) if call_id is not None:
                self._turns.stop_call(call_id)
            case Interrupt(scope="agent", agent=agent) if agent is not None:
                self._turns.stop_agent(agent)
            case Interrupt():
                self._turns.interrupt()
            case Pause():
                self._states.pause()
            case Resume():
                self._states.resume()
            case DecidePermission(request_id=request_id):
                self._decisions.answer(request_id, command)
            case AnswerQuestion(question_id=question_id):
                self._answers.answer(question_id, command)
            case SetModel() | SetEffort() | SetPolicy() | SetAgent() | SetBudgets():
                apply_setting(self._parts, command)
            case SetContextMode() | SetRepoMap() | SetMapChoice():
                apply_setting(self._parts, command)
            case RevokeRule():
                revoke_rule(self._parts, command)
            case Compact() | RestoreContext():
                self._turns.reserve_for(command)
                group.start_soon(self._reshape, command, group)
            case PinContext():
                pin(self._parts, command)
            case RunUserShell():
                close_calls(self._parts.recorder, why=INSTEAD)
                begin_user_shell(self._parts, command)
                self._turns.reserve()
                group.start_soon(self._user_shell, command, group)
            case Revert() | Undo() | Redo() | PlanRevert():
                behind = self._plan
                if behind is None:
                    self._turns.reserve()
                    self._plan = anyio.Event() if isinstance(command, PlanRevert) else None
                group.start_soon(self._go_back, command, behind)
            case StopJob(job_id=job_id) if job_id is not None:
                group.start_soon(self._jobs.stop, job_id, "user")
            case StopJob():
                group.start_soon(self._jobs.end_all, "stopped", "user")
            case Rename(title=title):
                self._parts.recorder.append(SessionTitled(title=title, by="user"), cause=command.id)
            case Close():
                return

    def _message(self, command: SubmitPrompt | Steer | Queue, group: TaskGroup) -> None:
        recorder = self._parts.recorder
        images = attachments(self._parts.blobs, command.attachments)
        if self._turns.running and isinstance(command, Steer) and not _beside_a_turn(recorder.state):
            self._steer(UserSteered(text=command.text, attachments=images), group, command)
            return
        if self._turns.running:
            recorder.append(
                UserQueued(queue_id=self._parts.ids.request(), text=command.text, attachments=images),
                cause=command.id,
            )
            return
        message = UserMessageReceived(text=command.text, attachments=images)
        self._begin(message, group, command)

    def _go_on(self, command: GoOn, group: TaskGroup) -> None:
        recorder = self._parts.recorder
        forked = recorder.state.forked
        if forked is not None and forked.message is not None:
            self._begin(UserMessageReceived(text=forked.message), group, command)
            return
        why = nothing_to_answer(recorder.messages())
        if why is not None and not recorder.state.open_calls:
            self._reject(command, why)
            return
        recorder.cause = command.id
        self._run_turn(group, goes_on=recorder.state.pending_prompt is None)

    def _send_queued(self, queue_id: RequestId, group: TaskGroup, command: Command) -> None:
        recorder = self._parts.recorder
        waiting = next(each for each in recorder.state.queue if each.queue_id == queue_id)
        if not self._turns.running:
            self._begin(_from_queue(waiting), group, command)
            return
        recorder.append(UserUnqueued(queue_id=queue_id), cause=command.id)
        self._steer(UserSteered(text=waiting.text, attachments=waiting.attachments), group, command)

    def _steer(self, message: UserSteered, group: TaskGroup, command: Command) -> None:
        if self._heard.ready(message.text):
            self._parts.recorder.append(message, cause=command.id)
        else:
            group.start_soon(self._steer_heard, message, group, command)

    async def _steer_heard(self, message: UserSteered, group: TaskGroup, command: Command) -> None:
        """Steer once the hooks have heard it. What they still hear when the session ends stays in the queue."""
        text, images, recorder = message.text, message.attachments, self._parts.recorder
        try:
            heard = await self._heard.prompt(text)
            if heard.decision != "deny":
                message = await self._heard.mentioning(message)
        except StoreError as error:
            self._on_trouble(error)
            return
        except anyio.get_cancelled_exc_class():
            queued = UserQueued(queue_id=self._parts.ids.request(), text=text, attachments=images)
            self._guard(partial(recorder.append, queued, cause=command.id))
            raise
        if heard.decision == "deny":
            self._guard(partial(self._refused_by_hook, heard, command, None))
        elif self._turns.running:
            self._guard(partial(recorder.append, message, cause=command.id))
            self._guard(partial(self._heard.record, heard))
        else:
            self._guard(partial(self._begin_now, _sent(message), group, command, heard))

    def _begin(self, message: UserMessageReceived, group: TaskGroup, command: Command | None) -> None:
        if self._heard.ready(message.text):
            self._begin_now(message, group, command)
        else:
            self._turns.reserve()
            group.start_soon(self._begin_heard, message, group, command)

    async def _begin_heard(
        self, message: UserMessageReceived, group: TaskGroup, command: Command | None
    ) -> None:
        """Begin once the hooks have heard the message, and what it mentions is known; stopped meanwhile, it is not sent."""
        doing = self._heard.waits_for or "reading what you mention"
        self._guard(partial(self._states.set, AgentState.RUNNING, doing))
        heard: Heard | None = None
        try:
            with self._turns.scope as scope:
                heard = await self._heard.prompt(message.text)
                if heard.decision != "deny":
                    message = await self._heard.mentioning(message)
        except StoreError as error:
            self._on_trouble(error)
        finally:
            self._turns.release()
        if heard is not None and heard.decision != "deny" and not scope.cancel_called:
            self._guard(partial(self._begin_now, message, group, command, heard))
            return
        self._guard(partial(self._refused_by_hook, heard, command, message.queue_id))
        self._guard(partial(self._states.set, AgentState.IDLE))
        self._next_in_queue(group)

    def _refused_by_hook(
        self, heard: Heard | None, command: Command | None, queue_id: RequestId | None
    ) -> None:
        cause = command.id if command is not None else None
        if queue_id is not None:
            self._parts.recorder.append(UserUnqueued(queue_id=queue_id), cause=cause)
        if heard is not None:
            self._heard.record(heard)
        kind = command.kind if command is not None else "queue"
        self._parts.recorder.append(self._heard.rejection(heard, kind), cause=cause)

    def _begin_now(
        self, message: UserMessageReceived, group: TaskGroup, command: Command | None, heard: Heard = NOTHING
    ) -> None:
        recorder = self._parts.recorder
        recorder.cause = command.id if command is not None else None
        close_calls(recorder, why=INSTEAD)
        title_after(recorder, message)
        recorder.append(message)
        self._heard.record(heard)
        self._run_turn(group, goes_on=False)

    def _run_turn(self, group: TaskGroup, *, goes_on: bool) -> None:
        self._turns.reserve()
        group.start_soon(self._baseline)
        group.start_soon(partial(self._turn, group, goes_on=goes_on))

    async def _turn(self, group: TaskGroup, *, goes_on: bool) -> None:
        try:
            await self._turns.run(goes_on=goes_on)
        except StoreError as error:
            self._on_trouble(error)
        self._next_in_queue(group)

    def _next_in_queue(self, group: TaskGroup, *, awaited: bool = False) -> None:
        """After a turn that ended by itself, the oldest queued message begins the next one; after a command of the
        user's own too, where one was queued while it ran (`awaited`)."""
        state = self._parts.recorder.state
        if not state.queue or self._turns.running or self._closing:
            return
        if not awaited and state.last_turn_end not in (None, "finished"):
            return
        self._guard(partial(self._begin, _from_queue(state.queue[0]), group, None))

    async def _user_shell(self, command: RunUserShell, group: TaskGroup) -> None:
        before = {one.queue_id for one in self._parts.recorder.state.queue}
        try:
            with self._turns.scope:
                await run_user_shell(self._parts, self._states, self._ticker, command)
                await self._checkpointing.settle()
        except CheckpointError as fault:
            self._guard(partial(self._checkpointing.tell, fault))
        except StoreError as error:
            self._on_trouble(error)
        finally:
            self._turns.release()
        queue = self._parts.recorder.state.queue
        self._next_in_queue(group, awaited=any(one.queue_id not in before for one in queue))

    async def _reshape(self, command: Compact | RestoreContext, group: TaskGroup) -> None:
        """Summarise at the user's wish, or bring back; what was said meanwhile goes after it."""
        self._parts.recorder.cause = command.id
        before = {one.queue_id for one in self._parts.recorder.state.queue}
        try:
            await self._turns.reshape(command)
        except StoreError as error:
            self._on_trouble(error)
        finally:
            self._turns.release()
            self._guard(partial(self._states.set, AgentState.IDLE))
        queue = self._parts.recorder.state.queue
        self._next_in_queue(group, awaited=any(one.queue_id not in before for one in queue))

    async def _baseline(self) -> None:
        try:
            await self._checkpointing.begin()
        except CheckpointError as fault:
            self._guard(partial(self._checkpointing.tell, fault))
        except StoreError as error:
            self._on_trouble(error)

    async def _go_back(self, command: Revert | Undo | Redo | PlanRevert, behind: anyio.Event | None) -> None:
        if behind is not None:
            await behind.wait()
            if self._turns.running:
                self._guard(partial(self._refuse_after_all, command))
                return
            self._turns.reserve()
        self._parts.recorder.cause = command.id
        try:
            self._states.set(AgentState.RUNNING, _GOING[command.kind])
            with self._turns.scope:
                if isinstance(command, PlanRevert):
                    await self._rewind.plan(command)
                else:
                    await self._rewind.run(command)
                    kept = [job.job_id for job in self._parts.recorder.state.jobs]
                    await self._jobs.end_all("stopped", "user", kept)
        except (UsageError, CheckpointError) as error:
            self._guard(partial(self._reject, command, Refusal(error.message, error.hint)))
        except StoreError as error:
            self._on_trouble(error)
        finally:
            self._turns.release()
            if self._plan is not None and isinstance(command, PlanRevert):
                self._plan.set()
                self._plan = None
            self._guard(partial(self._states.set, AgentState.IDLE))

    def _refuse_after_all(self, command: Command) -> None:
        """Refuse what something else has come before."""
        reason = refusal(command, self._parts.recorder.state, True, self._decisions, self._answers)
        if reason is not None:
            self._reject(command, reason)


def _beside_a_turn(state: SessionStateView) -> bool:
    """What runs is no turn that could be steered."""
    return state.shell is not None or state.compacting


def _from_queue(waiting: UserQueued) -> UserMessageReceived:
    return UserMessageReceived(
        text=waiting.text, attachments=waiting.attachments, source="queue", queue_id=waiting.queue_id
    )


def _sent(message: UserSteered) -> UserMessageReceived:
    return UserMessageReceived(text=message.text, attachments=message.attachments, mentions=message.mentions)
