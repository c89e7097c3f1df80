"""The history of one agent, as sent to the agent's model.

Invariant: when no tool call waits for its result, each call in the model's answers is followed by exactly one result.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from tui_agent.folds.context.compacted_history import (
    RemovedMessages,
    UserReply,
    call_ids,
    calls_by_id,
)
from tui_agent.folds.context.instructions import joined_content
from tui_agent.folds.context.model_notes import (
    approved_plan,
    fork_note,
    hook_notes,
    is_job_note,
    job_note,
    mention_messages,
    message_content,
    own_words,
)
from tui_agent.folds.context.restore_notes import FileNotes
from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.session.unfinished_work import PROGRAM_CLOSED
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPinned,
    ContextReduced,
    ContextRestored,
    RepomapUsed,
)
from tui_agent.protocol.events.files import CheckpointRestored, FileChanged
from tui_agent.protocol.events.hook import HookRan
from tui_agent.protocol.events.instructions import InstructionsLoaded
from tui_agent.protocol.events.job import JobFinished, JobStarted
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import (
    RunStarted,
    SessionContextLoaded,
    SessionForked,
    SessionHeadMoved,
)
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import (
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserShellFinished,
    UserSteered,
)
from tui_agent.protocol.frozen_model import share_field_tables
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, JobId, RequestId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import (
    Content,
    ModelPart,
    TextContent,
    TextPart,
    tool_calls,
)
from tui_agent.protocol.stored_text import BlobText, LongText, text_preview
from tui_agent.protocol.unicode_text import clip_line
from tui_agent.units import format_duration

INTERRUPTED = "[The user interrupted here.]"
CONTINUED = "[The user interrupted here and now asks you to continue.]"
CRASHED = "[tui-agent ended here during the turn and was restarted.]"
MAX_OCCASION_CHARS = 120
"""Maximum length of the text to which a user's reply refers (a command, a question or a title), in characters."""


@dataclass(slots=True)
class History:
    """The complete state of a history of messages.

    - `late`: messages that wait for the next request.
    - `task`: index of the message with a delegate's task, or None after the delegate's turn has started.
    - `answers`: number of all answers, including summarised ones.
    - `opening`: first text of the conversation: the user's message or a delegate's task.
    - `removed`: messages that can be restored.
    - `permissions`, `plans`: permission requests and plans that wait for the user.
    - `jobs`: running background jobs.
    """

    messages: list[Message] = field(default_factory=list)
    late: list[Message] = field(default_factory=list)
    open_calls: set[CallId] = field(default_factory=set)
    profiles: dict[RequestId, str] = field(default_factory=dict)
    task: int | None = None
    removed: RemovedMessages = field(default_factory=RemovedMessages)
    answers: int = 0
    opening: LongText = ""
    permissions: dict[RequestId, PermissionRequested] = field(default_factory=dict)
    plans: dict[RequestId, QuestionAsked] = field(default_factory=dict)
    jobs: set[JobId] = field(default_factory=set)
    was_interrupted: bool = False
    """True if an earlier run ended in the middle of the running turn."""
    is_fork_start: bool = False
    """True from the start of a fork until the fork's first turn starts."""
    notes: list[UserMessage] = field(default_factory=list)
    """Notes about a fork's folder and about restored files, which precede the next message."""
    file_notes: FileNotes = field(default_factory=FileNotes)
    """What the model must be told about restored and kept files."""

    def add(self, message: Message) -> None:
        """Append a user message. If tool calls still wait for results, append the message after these results."""
        # Behind a message that waits, later ones wait too: they keep their order.
        (self.late if self.open_calls or self.late else self.messages).append(_save_memory(message))

    def add_note(self, message: Message) -> None:
        """Append a note to the history. If tool calls still wait for results, keep the note for the next request."""
        (self.late if self.open_calls else self.messages).append(_save_memory(message))

    def add_notes(self, seq: int) -> bool:
        """Append the notes that precede the message of the event `seq`; return False if there are none."""
        notes, self.notes = [*self.notes, *self.file_notes.end_move(seq)], []
        for note in notes:
            self.add_note(note)
        return bool(notes)

    def add_answer(self, request_id: RequestId, parts: tuple[ModelPart, ...], seq: int) -> bool:
        """Add the model's answer and open its calls, or return False if the answer is empty."""
        profile = self.profiles.pop(request_id, "")
        if not parts:
            return False
        self.messages.append(_save_memory(AssistantMessage(parts=parts, model=profile, seq=seq)))
        self.answers += 1
        self.open_calls.update(part.call_id for part in tool_calls(parts))
        return True

    def note_continuation(self) -> bool:
        """Replace the note that the user interrupted the turn.

        The new note says that the user asks to continue, or that the program was started again. Return False if the
        newest message is not a note about an interruption.
        """
        messages = self.late if self.open_calls else self.messages
        index = next(
            (index for index in reversed(range(len(messages))) if not is_job_note(messages[index], "")), 0
        )
        last = messages[index] if messages else None
        if not isinstance(last, UserMessage) or last.content != (TextContent(text=INTERRUPTED),):
            return False
        note = CRASHED if self.open_calls else CONTINUED
        messages[index] = last.model_copy(update={"content": (TextContent(text=note),)})
        return True

    def restore(self, seqs: Collection[int], compaction: int | None, seq: int) -> None:
        """Restore the messages of the events `seqs`, or all messages that the event `compaction` removed."""
        if compaction is not None:
            self.messages = self.removed.undo(self.messages, compaction, self.open_calls)
            return
        self.messages, quotations = self.removed.restore(self.messages, seqs, seq)
        for message in quotations:
            self.add(message)


class ModelMessages:
    """Builds the history of one agent from the agent's events."""

    # Messages that arrive while calls run stay at the end of the view until the next `model.requested` event.

    def __init__(self, agent: AgentId = MAIN_AGENT, history: History | None = None) -> None:
        self.agent = agent
        self.history = history or History()
        for message in (*self.history.messages, *self.history.late):
            _save_memory(message)
        self._view: tuple[Message, ...] | None = None

    @property
    def removed(self) -> RemovedMessages:
        """The messages that can be restored."""
        return self.history.removed

    def apply(self, ev: Envelope) -> bool:
        if ev.agent != self.agent:
            return False
        changed = _HANDLERS.apply(self.history, ev)
        if changed:
            self._view = None
        return changed

    def view(self) -> tuple[Message, ...]:
        """Return the current history, followed by the messages that wait to be sent."""
        if self._view is None:
            self._view = (*self.history.messages, *self.history.late)
        return self._view

    def originals(self) -> tuple[Message, ...]:
        """Return the whole history, including removed messages."""
        return (*self.removed.originals(self.history.messages), *self.history.late)


_HANDLERS: Handlers[History] = Handlers()


def _save_memory(message: Message) -> Message:
    match message:
        case UserMessage(content=pieces) | ToolMessage(content=pieces) | AssistantMessage(parts=pieces):
            return share_field_tables(message, pieces)
        case SummaryMessage():
            return share_field_tables(message)


@_HANDLERS.on(UserMessageReceived)
def _on_user_message_received(history: History, ev: Envelope, payload: UserMessageReceived) -> None:
    history.opening = history.opening or payload.text
    history.add_notes(ev.seq)
    history.removed.user_seqs[ev.seq] = payload.own_words
    message = UserMessage(content=message_content(payload.text, payload.attachments), seq=ev.seq)
    if history.task is not None and history.task < len(history.messages):
        history.messages[history.task] = _save_memory(message)
        history.task = None
    else:
        history.add(message)
    for message in mention_messages(payload.mentions, ev.seq):
        history.add(message)


@_HANDLERS.on(UserSteered)
def _on_user_steered(history: History, ev: Envelope, payload: UserSteered) -> None:
    history.removed.user_seqs[ev.seq], history.removed.steered_seqs[ev.seq] = payload.own_words, None
    message = UserMessage(content=message_content(payload.text, payload.attachments), seq=ev.seq)
    history.late += map(_save_memory, (message, *mention_messages(payload.mentions, ev.seq)))


@_HANDLERS.on(UserShellFinished)
def _on_user_shell_finished(history: History, ev: Envelope, payload: UserShellFinished) -> None:
    if payload.hidden:
        return
    seconds = payload.duration_ms / 1_000
    end = {
        "interrupted": f"stopped by the user after {format_duration(seconds)}",
        "timeout": f"stopped at its time limit of {format_duration(seconds)}",
        "failed": "could not be run",
        "lost": "tui-agent crashed during the command; its effects are unknown",
    }.get(payload.end, "did not end" if payload.exit_code is None else f"exit status {payload.exit_code}")
    head = f"The user ran a command: {payload.command} ({end})."
    content: tuple[Content, ...]
    if isinstance(payload.output, BlobText):
        content = (TextContent(text=f"[{head} Its output:]"), TextContent(text=payload.output))
    elif payload.output.strip():
        content = (TextContent(text=f"[{head} Its output:]\n{payload.output}"),)
    else:
        content = (TextContent(text=f"[{head} It printed nothing.]"),)
    history.add(UserMessage(content=content, seq=ev.seq))


@_HANDLERS.on(HookRan)
def _on_hook_ran(history: History, ev: Envelope, payload: HookRan) -> None:
    pieces = tuple(hook_notes(payload))
    # The summary, and not the history, gets the context that a hook adds before compaction.
    if pieces and payload.event != "before_compaction":
        history.add(UserMessage(content=pieces, seq=ev.seq, origin="hook"))


@_HANDLERS.on(AgentSpawned)
def _on_agent_spawned(history: History, ev: Envelope, payload: AgentSpawned) -> None:
    history.opening = payload.task
    history.removed.user_seqs[ev.seq] = ""
    history.task = len(history.messages)
    history.add(UserMessage(content=(TextContent(text=payload.task),), seq=ev.seq))


@_HANDLERS.on(SessionContextLoaded)
def _on_session_context_loaded(history: History, ev: Envelope, payload: SessionContextLoaded) -> None:
    history.messages.insert(0, SummaryMessage(text=payload.summary, seq=ev.seq))


@_HANDLERS.on(InstructionsLoaded)
def _on_instructions_loaded(history: History, ev: Envelope, payload: InstructionsLoaded) -> None:
    content = joined_content(payload)
    if content:
        history.add(UserMessage(content=content, seq=ev.seq, origin="instructions"))


@_HANDLERS.on(RepomapUsed)
def _on_repomap_used(history: History, ev: Envelope, payload: RepomapUsed) -> None:
    if payload.injected and payload.text:
        content = tuple(TextContent(text=text) for text in ("<repo_map>", payload.text, "</repo_map>"))
        history.add(UserMessage(content=content, seq=ev.seq, origin="map"))


@_HANDLERS.on(ContextCompacted)
def _on_context_compacted(history: History, ev: Envelope, payload: ContextCompacted) -> None:
    summary = share_field_tables(SummaryMessage(text=payload.summary, seq=ev.seq, shares=payload.shares))
    history.messages = history.removed.compact(history.messages, payload.through_seq, summary)
    history.open_calls &= call_ids(history.messages)  # a summarised call needs no result any more
    history.task = None


@_HANDLERS.on(ContextReduced)
def _on_context_reduced(history: History, ev: Envelope, payload: ContextReduced) -> None:
    artifacts = dict(zip(payload.call_ids, payload.artifacts, strict=False))
    history.messages = history.removed.reduce(history.messages, artifacts)


@_HANDLERS.on(ContextRestored)
def _on_context_restored(history: History, ev: Envelope, payload: ContextRestored) -> None:
    history.restore(frozenset(payload.seqs), payload.compaction, ev.seq)


@_HANDLERS.on(ContextPinned)
def _on_context_pinned(history: History, ev: Envelope, payload: ContextPinned) -> bool:
    for seq in payload.seqs:
        if payload.pinned:
            history.removed.pinned[seq] = None
        else:
            history.removed.pinned.pop(seq, None)
    return False


@_HANDLERS.on(ModelRequested)
def _on_model_requested(history: History, ev: Envelope, payload: ModelRequested) -> bool:
    history.profiles[payload.request_id] = payload.model.profile
    history.task = None
    if not history.late or history.open_calls:
        return False
    history.messages += history.late
    history.late = []
    return True


@_HANDLERS.on(ModelResponded)
def _on_model_responded(history: History, ev: Envelope, payload: ModelResponded) -> bool:
    return history.add_answer(payload.request_id, payload.parts, ev.seq)


@_HANDLERS.on(ModelFailed)
def _on_model_failed(history: History, ev: Envelope, payload: ModelFailed) -> bool:
    partial = payload.partial
    is_own = payload.request_id in history.profiles
    if not is_own or payload.fault != "cancelled" or (isinstance(partial, str) and not partial.strip()):
        return False
    return history.add_answer(payload.request_id, (TextPart(text=partial),), ev.seq)


@_HANDLERS.on(JobStarted)
def _on_job_started(history: History, ev: Envelope, payload: JobStarted) -> bool:
    history.jobs.add(payload.job_id)
    return False


@_HANDLERS.on(JobFinished)
def _on_job_finished(history: History, ev: Envelope, payload: JobFinished) -> bool:
    is_known = payload.job_id in history.jobs  # The call that started it may have been undone.
    history.jobs.discard(payload.job_id)
    if payload.stopped_by == "agent" or not is_known:
        return False
    history.late.append(_save_memory(UserMessage(content=(job_note(payload),), seq=ev.seq)))
    return True


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(history: History, ev: Envelope, payload: ToolFinished) -> bool:
    if payload.data.get("state", "running") != "running":  # the result reports the job's end
        job = f"{payload.data.get('job_id')} "
        history.late = [message for message in history.late if not is_job_note(message, job)]
    if payload.call_id not in history.open_calls:
        return False  # providers refuse a result without its call
    history.open_calls.discard(payload.call_id)
    message = ToolMessage(
        call_id=payload.call_id,
        name=payload.name,
        content=payload.content,
        ok=payload.status == "ok",
        seq=ev.seq,
        artifact_id=_artifact_id(payload),
    )
    history.messages.append(_save_memory(message))
    if payload.name == "ask_user" and payload.data.get("answer"):
        _add_answer_to_question(history, ev, payload)
    return True


def _artifact_id(end: ToolFinished) -> str:
    """Return the id of the artifact with the call's full result, or else of the artifact that the call read.

    Return an empty string if there is neither.
    """
    if end.artifact is not None:
        return end.artifact.id
    artifact_id = end.data.get("artifact_id")
    return artifact_id if isinstance(artifact_id, str) else ""


@_HANDLERS.on(PermissionRequested)
def _on_permission_requested(history: History, ev: Envelope, payload: PermissionRequested) -> bool:
    history.permissions[payload.request_id] = payload
    return False


@_HANDLERS.on(PermissionDecided)
def _on_permission_decided(history: History, ev: Envelope, payload: PermissionDecided) -> bool:
    request = history.permissions.pop(payload.request_id, None) if payload.request_id else None
    if request is not None and payload.decision == "deny":
        occasion = f"refusing to {request.verb} `{clip_line(request.target, MAX_OCCASION_CHARS)}`"
        history.removed.add_reply(UserReply(ev.seq, occasion, payload.message, payload.call_id))
    return False


@_HANDLERS.on(QuestionAsked)
def _on_question_asked(history: History, ev: Envelope, payload: QuestionAsked) -> bool:
    if payload.form == "plan":
        history.plans[payload.question_id] = payload
    return False


@_HANDLERS.on(QuestionAnswered)
def _on_question_answered(history: History, ev: Envelope, payload: QuestionAnswered) -> bool:
    plan = history.plans.pop(payload.question_id, None)
    if plan is None:
        return False
    approved = approved_plan(plan, payload)
    title = clip_line(text_preview(plan.text).strip().partition("\n")[0].lstrip("# "), MAX_OCCASION_CHARS)
    occasion = f'{"editing" if approved else "refusing"} the plan "{title}"'
    history.removed.add_reply(UserReply(ev.seq, occasion, own_words(plan, payload)))
    if approved:
        history.removed.plan = approved
    return False


def _add_answer_to_question(history: History, ev: Envelope, payload: ToolFinished) -> None:
    """Store the user's answer to a question (the result of `ask_user`) with the user's other replies."""
    question = calls_by_id(history.messages)[payload.call_id].arguments.get("question")
    words = next((part.text for part in payload.content if isinstance(part, TextContent)), "")
    occasion = f'answering "{clip_line(str(question).strip(), MAX_OCCASION_CHARS)}"'
    history.removed.add_reply(UserReply(ev.seq, occasion, words))


@_HANDLERS.on(RunStarted)
def _on_run_started(history: History, ev: Envelope, payload: RunStarted) -> bool:
    history.was_interrupted = True
    return False


@_HANDLERS.on(SessionForked)
def _on_session_forked(history: History, ev: Envelope, payload: SessionForked) -> bool:
    history.is_fork_start = True
    note = fork_note(payload.changes)
    if note is not None:
        # Added only when a turn starts: the note alone is nothing that the model could answer.
        history.notes.append(UserMessage(content=(note,), seq=ev.seq))
    return False


@_HANDLERS.on(SessionHeadMoved)
def _on_session_head_moved(history: History, ev: Envelope, payload: SessionHeadMoved) -> bool:
    history.file_notes.move = payload
    return False


@_HANDLERS.on(FileChanged)
def _on_file_changed(history: History, ev: Envelope, payload: FileChanged) -> bool:
    history.file_notes.add_change(payload)
    return False


@_HANDLERS.on(CheckpointRestored)
def _on_checkpoint_restored(history: History, ev: Envelope, payload: CheckpointRestored) -> bool:
    history.notes += history.file_notes.add_restored(payload, ev.seq)
    return False


@_HANDLERS.on(TurnStarted)
def _on_turn_started(history: History, ev: Envelope, payload: TurnStarted) -> bool:
    history.was_interrupted = history.is_fork_start = False
    changed = payload.is_continuation and history.note_continuation()
    return history.add_notes(ev.seq) or changed


@_HANDLERS.on(TurnFinished)
def _on_turn_finished(history: History, ev: Envelope, payload: TurnFinished) -> bool:
    history.permissions.clear()
    history.plans.clear()
    if payload.reason != "interrupted" or history.is_fork_start:
        return False
    by_user = not history.was_interrupted and payload.detail != PROGRAM_CLOSED
    note = INTERRUPTED if by_user else CRASHED
    history.add_note(UserMessage(content=(TextContent(text=note),), seq=ev.seq))
    return True
