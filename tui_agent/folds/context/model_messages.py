"""The history that one agent's model sees.

Invariant: whenever no call is open the view is legal: each call of an
answer is followed by its one result, and messages sent meanwhile come after the results.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tui_agent.folds.context.compacted_history import RemovedMessages, RemovedMessagesState, call_ids
from tui_agent.folds.context.instructions import joined_content
from tui_agent.folds.dispatch import Handlers
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import BlobText, LongText, share_field_tables
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPinned,
    ContextReduced,
    ContextRestored,
    RepomapUsed,
)
from tui_agent.protocol.events.hook import HookRan
from tui_agent.protocol.events.instructions import InstructionsLoaded
from tui_agent.protocol.events.job import JobEnd, JobFinished
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.session import RunStarted, SessionContextLoaded, SessionForked
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import (
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserShellFinished,
    UserSteered,
)
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, ImageContent, ModelPart, TextContent, TextPart, ToolCallPart

INTERRUPTED = "[The user interrupted here.]"
CONTINUED = "[The user interrupted here and now asks you to continue.]"
CRASHED = "[The program crashed here during the turn and was restarted.]"
_JOB = "[Background job "
_JOB_ENDS: dict[JobEnd, str] = {
    "exited": "ended by itself",
    "stopped": "was stopped by the user",
    "session": "was stopped with the session",
    "failed": "could not be started",
    "lost": "was lost: the program crashed while it ran",
}


MAP_BEGINS, MAP_ENDS = "<repo_map>", "</repo_map>"


@dataclass(frozen=True, slots=True)
class MessagesState:
    """The complete state of a history, for a snapshot."""

    agent: AgentId
    messages: tuple[Message, ...]
    late: tuple[Message, ...]
    open: tuple[CallId, ...]
    profiles: dict[RequestId, str]
    task: int | None
    broken: bool
    forgotten: RemovedMessagesState = field(default_factory=RemovedMessagesState)
    answers: int = 0
    opening: LongText = ""


class ModelMessages:
    """A fold of one agent's events into its history.

    Messages that arrive while calls run (`user.steered`, a shell command) wait at the end of the view; the
    next `model.requested` moves them into place.
    """

    def __init__(self, agent: AgentId = MAIN_AGENT) -> None:
        self.agent = agent
        self._messages: list[Message] = []
        self._late: list[Message] = []
        self._open: set[CallId] = set()
        self._profiles: dict[RequestId, str] = {}
        self._task: int | None = None
        self._view: tuple[Message, ...] | None = None
        self.answers = 0
        """Number of answers so far, including those behind summaries."""
        self.opening: LongText = ""
        """The first text of the conversation: the user's, or a delegate's task."""
        self.removed = RemovedMessages()
        """Messages that can be restored."""
        self.was_interrupted = False
        """True if the running turn was left open by an earlier run."""
        self.is_fork_start = False
        """True until the first turn of a fork starts: a turn that ends before was only cut by the fork."""

    def dump_state(self) -> MessagesState:
        """Return the state for `from_state`."""
        return MessagesState(
            self.agent,
            tuple(self._messages),
            tuple(self._late),
            tuple(self._open),
            dict(self._profiles),
            self._task,
            self.was_interrupted,
            self.removed.dump_state(),
            self.answers,
            self.opening,
        )

    @classmethod
    def from_state(cls, kept: MessagesState) -> "ModelMessages":
        """Return a history that continues from a state."""
        history = cls(kept.agent)
        history._messages, history._late = [
            [_save_memory(message) for message in messages] for messages in (kept.messages, kept.late)
        ]
        history._open, history._profiles = set(kept.open), dict(kept.profiles)
        history._task, history.was_interrupted = kept.task, kept.broken
        history.removed, history.answers = RemovedMessages(kept.forgotten), kept.answers
        history.opening = kept.opening
        return history

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if the history changed."""
        if ev.agent != self.agent:
            return False
        changed = _HANDLERS.apply(self, ev)
        if changed:
            self._view = None
        return changed

    def view(self) -> tuple[Message, ...]:
        """Return the history from its beginning (or newest summary) to the messages that wait to be sent."""
        if self._view is None:
            self._view = (*self._messages, *self._late)
        return self._view

    def add(self, message: Message) -> bool:
        """Append a user message: at once, or after the results that are still open."""
        (self._late if self._open or self._late else self._messages).append(_save_memory(message))
        return True

    def add_note(self, message: Message) -> bool:
        """Append a note at the present position, before messages that wait."""
        (self._late if self._open else self._messages).append(_save_memory(message))
        return True

    def note_continuation(self) -> bool:
        """Replace the note on an interruption: the agent continues from here.

        The interruption was by the user or, if calls are still open, by a crash that left them undecided.
        """
        messages = self._late if self._open else self._messages
        index = next(
            (index for index in reversed(range(len(messages))) if not _is_job_note(messages[index], "")), 0
        )
        last = messages[index] if messages else None
        if not isinstance(last, UserMessage) or last.content != (TextContent(text=INTERRUPTED),):
            return False
        note = CRASHED if self._open else CONTINUED
        messages[index] = last.model_copy(update={"content": (TextContent(text=note),)})
        return True

    def add_late(self, message: Message) -> bool:
        """Keep a message at the end of the view until the next request."""
        self._late.append(_save_memory(message))
        return True

    def drop_job_note(self, job_id: str) -> None:
        """Remove the waiting note on a job's end, because a call's result reports it."""
        self._late = [message for message in self._late if not _is_job_note(message, f"{job_id} ")]

    def add_task(self, text: LongText, seq: int) -> bool:
        """Add a delegate's task as its first message, until the message that opens its turn replaces it."""
        self._task = len(self._messages)
        return self.add(UserMessage(content=(TextContent(text=text),), seq=seq))

    def open_turn(self, message: UserMessage) -> bool:
        """Add a message that opens a turn; a delegate's first one replaces its task."""
        if self._task is not None and self._task < len(self._messages):
            self._messages[self._task] = _save_memory(message)
            self._task = None
            return True
        return self.add(message)

    def record_request(self, request_id: RequestId, profile: str) -> bool:
        """Record a request: messages that waited are part of it."""
        self._profiles[request_id] = profile
        self._task = None
        if not self._late or self._open:
            return False
        self._messages += self._late
        self._late = []
        return True

    def add_answer(self, request_id: RequestId, parts: tuple[ModelPart, ...], seq: int) -> bool:
        """Add the model's answer and open its calls."""
        profile = self._profiles.pop(request_id, "")
        if not parts:
            return False
        self._messages.append(_save_memory(AssistantMessage(parts=parts, model=profile, seq=seq)))
        self.answers += 1
        self._open.update(part.call_id for part in parts if isinstance(part, ToolCallPart))
        return True

    def add_result(self, message: ToolMessage) -> bool:
        """Add a call's result; ignore one that this history did not ask for."""
        if message.call_id not in self._open:
            return False
        self._open.discard(message.call_id)
        self._messages.append(_save_memory(message))
        return True

    def compact(self, through: int, summary: SummaryMessage) -> bool:
        """Replace everything up to `through` by `summary`; results whose call is removed go too."""
        self._messages = self.removed.compact(self._messages, through, share_field_tables(summary))
        self._open &= call_ids(self._messages)
        self._task = None
        return True

    def reduce(self, artifacts: dict[CallId, Artifact]) -> bool:
        """Replace each of these results by one line."""
        self._messages = self.removed.reduce(self._messages, artifacts)
        return True

    def restore(self, seqs: Collection[int], compaction: int | None, now: int) -> bool:
        """Restore these messages, or all that the newest compaction removed."""
        if compaction is not None:
            self._messages = self.removed.undo(self._messages, compaction, self._open)
            return True
        self._messages, quotations = self.removed.restore(self._messages, seqs, now)
        for message in quotations:
            self.add(message)
        return True

    def originals(self) -> tuple[Message, ...]:
        """Return the whole history, including removed messages."""
        return (*self.removed.originals(self._messages), *self._late)

    def prepend(self, message: Message) -> bool:
        """Insert a message at the beginning."""
        self._messages.insert(0, message)
        return True


_HANDLERS: Handlers[ModelMessages] = Handlers()


def _save_memory(message: Message) -> Message:
    match message:
        case UserMessage(content=pieces) | ToolMessage(content=pieces) | AssistantMessage(parts=pieces):
            return share_field_tables(message, pieces)
        case SummaryMessage():
            return share_field_tables(message)


def _message_content(text: LongText, attachments: tuple[ImageContent, ...]) -> tuple[Content, ...]:
    if text == "" and attachments:
        return attachments
    return (TextContent(text=text), *attachments)


def _mention_messages(mentions: tuple[Mention, ...], seq: int) -> list[UserMessage]:
    """Return the mentioned content as a separate message.

    It may be dropped when space is short; the user's own words may not.
    """
    pieces: list[Content] = []
    for mention in mentions:
        if mention.text:
            pieces.append(TextContent(text=mention.text))
        if mention.image is not None:
            pieces.append(mention.image)
    return [UserMessage(content=tuple(pieces), seq=seq, origin="mentions")] if pieces else []


@_HANDLERS.on(UserMessageReceived)
def _on_user_message_received(fold: ModelMessages, ev: Envelope, payload: UserMessageReceived) -> None:
    fold.opening = fold.opening or payload.text
    fold.removed.user_seqs[ev.seq] = None
    fold.open_turn(UserMessage(content=_message_content(payload.text, payload.attachments), seq=ev.seq))
    for message in _mention_messages(payload.mentions, ev.seq):
        fold.add(message)


@_HANDLERS.on(UserSteered)
def _on_user_steered(fold: ModelMessages, ev: Envelope, payload: UserSteered) -> None:
    fold.removed.user_seqs[ev.seq] = None
    fold.add_late(UserMessage(content=_message_content(payload.text, payload.attachments), seq=ev.seq))
    for message in _mention_messages(payload.mentions, ev.seq):
        fold.add_late(message)


@_HANDLERS.on(UserShellFinished)
def _on_user_shell_finished(fold: ModelMessages, ev: Envelope, payload: UserShellFinished) -> bool:
    if payload.hidden:
        return False
    seconds = payload.duration_ms / 1_000
    end = {
        "interrupted": f"stopped by the user after {seconds:.0f} s",
        "timeout": f"stopped at its time limit of {seconds:.0f} s",
        "failed": "could not be run",
        "lost": "the program crashed while it ran; its effects are unknown",
    }.get(payload.end, "did not end" if payload.exit_code is None else f"exit status {payload.exit_code}")
    head = f"[The user ran a command: {payload.command} ({end}). Its output:]"
    if isinstance(payload.output, BlobText):
        content: tuple[Content, ...] = (TextContent(text=head), TextContent(text=payload.output))
    else:
        content = (TextContent(text=f"{head}\n{payload.output}"),)
    return fold.add(UserMessage(content=content, seq=ev.seq))


@_HANDLERS.on(HookRan)
def _on_hook_ran(fold: ModelMessages, ev: Envelope, payload: HookRan) -> bool:
    if payload.event == "before_compaction":  # its context is for the summary
        return False
    pieces = list(_hook_pieces(payload))
    return bool(pieces) and fold.add(UserMessage(content=tuple(pieces), seq=ev.seq))


def _hook_pieces(payload: HookRan) -> Iterator[TextContent]:
    """Yield the notes on a hook for the model. The reason of a refusal is in the call's own result."""
    event_name = payload.event.replace("_", " ")
    if payload.arguments_changed:
        arguments = json.dumps(payload.arguments, ensure_ascii=False)
        yield TextContent(
            text=f"[A hook ({event_name}) changed the arguments of call {payload.call_id} to: {arguments}]"
        )
    if payload.decision == "deny" and payload.event == "after_tool":
        yield TextContent(text=f"[A hook ({event_name}) objects to call {payload.call_id}: {payload.reason}]")
    if payload.context:
        target = f" of call {payload.call_id}" if payload.call_id else ""
        yield TextContent(text=f"[A hook ({event_name}{target}) adds:]")
        yield TextContent(text=payload.context)


@_HANDLERS.on(AgentSpawned)
def _on_agent_spawned(fold: ModelMessages, ev: Envelope, payload: AgentSpawned) -> bool:
    fold.opening = payload.task
    fold.removed.user_seqs[ev.seq] = None
    return fold.add_task(payload.task, ev.seq)


@_HANDLERS.on(SessionContextLoaded)
def _on_session_context_loaded(fold: ModelMessages, ev: Envelope, payload: SessionContextLoaded) -> bool:
    return fold.prepend(SummaryMessage(text=payload.summary, seq=ev.seq))


@_HANDLERS.on(InstructionsLoaded)
def _on_instructions_loaded(fold: ModelMessages, ev: Envelope, payload: InstructionsLoaded) -> bool:
    content = joined_content(payload)
    return bool(content) and fold.add(UserMessage(content=content, seq=ev.seq, origin="instructions"))


@_HANDLERS.on(RepomapUsed)
def _on_repomap_used(fold: ModelMessages, ev: Envelope, payload: RepomapUsed) -> bool:
    if not payload.injected or not payload.text:
        return False
    opening_tag, closing_tag = TextContent(text=MAP_BEGINS), TextContent(text=MAP_ENDS)
    content = (opening_tag, TextContent(text=payload.text), closing_tag)
    return fold.add(UserMessage(content=content, seq=ev.seq, origin="map"))


@_HANDLERS.on(ContextCompacted)
def _on_context_compacted(fold: ModelMessages, ev: Envelope, payload: ContextCompacted) -> bool:
    summary = SummaryMessage(text=payload.summary, seq=ev.seq, shares=payload.shares)
    return fold.compact(payload.through_seq, summary)


@_HANDLERS.on(ContextReduced)
def _on_context_reduced(fold: ModelMessages, ev: Envelope, payload: ContextReduced) -> bool:
    return fold.reduce(dict(zip(payload.call_ids, payload.artifacts, strict=False)))


@_HANDLERS.on(ContextRestored)
def _on_context_restored(fold: ModelMessages, ev: Envelope, payload: ContextRestored) -> bool:
    return fold.restore(frozenset(payload.seqs), payload.compaction, ev.seq)


@_HANDLERS.on(ContextPinned)
def _on_context_pinned(fold: ModelMessages, ev: Envelope, payload: ContextPinned) -> bool:
    for seq in payload.seqs:
        if payload.pinned:
            fold.removed.pinned[seq] = None
        else:
            fold.removed.pinned.pop(seq, None)
    return False


@_HANDLERS.on(ModelRequested)
def _on_model_requested(fold: ModelMessages, ev: Envelope, payload: ModelRequested) -> bool:
    return fold.record_request(payload.request_id, payload.model.profile)


@_HANDLERS.on(ModelResponded)
def _on_model_responded(fold: ModelMessages, ev: Envelope, payload: ModelResponded) -> bool:
    return fold.add_answer(payload.request_id, payload.parts, ev.seq)


@_HANDLERS.on(ModelFailed)
def _on_model_failed(fold: ModelMessages, ev: Envelope, payload: ModelFailed) -> bool:
    partial = payload.partial
    own = payload.request_id in fold._profiles
    if not own or payload.fault != "cancelled" or (isinstance(partial, str) and not partial.strip()):
        return False
    return fold.add_answer(payload.request_id, (TextPart(text=partial),), ev.seq)


def _is_job_note(message: Message, job: str) -> bool:
    """Return True if it is the note on a job's end."""
    first = message.content[0] if isinstance(message, UserMessage) and message.content else None
    text = first.text if isinstance(first, TextContent) else ""
    return isinstance(text, str) and text.startswith(_JOB + job)


@_HANDLERS.on(JobFinished)
def _on_job_finished(fold: ModelMessages, ev: Envelope, payload: JobFinished) -> bool:
    if payload.stopped_by == "agent":
        return False
    seconds = f" after {payload.duration_ms / 1_000:.0f} s" if payload.duration_ms else ""
    status = f", exit {payload.exit_code}" if payload.exit_code is not None else ""
    printed = f"; {payload.size:,} bytes printed" if payload.size else ""
    text = f"{_JOB}{payload.job_id} {_JOB_ENDS[payload.end]}{seconds}{status}{printed}.]"
    return fold.add_late(UserMessage(content=(TextContent(text=text),), seq=ev.seq))


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(fold: ModelMessages, ev: Envelope, payload: ToolFinished) -> bool:
    if payload.data.get("state", "running") != "running":
        fold.drop_job_note(str(payload.data.get("job_id")))
    return fold.add_result(
        ToolMessage(
            call_id=payload.call_id,
            name=payload.name,
            content=payload.content,
            ok=payload.status == "ok",
            seq=ev.seq,
            artifact_id=_artifact_id(payload),
        )
    )


def _artifact_id(end: ToolFinished) -> str:
    """Return the artifact that stores the full result, or the one that the result was read from."""
    if end.artifact is not None:
        return end.artifact.id
    artifact_id = end.data.get("artifact_id")
    return artifact_id if isinstance(artifact_id, str) else ""


@_HANDLERS.on(RunStarted)
def _on_run_started(fold: ModelMessages, ev: Envelope, payload: RunStarted) -> bool:
    fold.was_interrupted = True
    return False


@_HANDLERS.on(SessionForked)
def _on_session_forked(fold: ModelMessages, ev: Envelope, payload: SessionForked) -> bool:
    fold.is_fork_start = True
    return False


@_HANDLERS.on(TurnStarted)
def _on_turn_started(fold: ModelMessages, ev: Envelope, payload: TurnStarted) -> bool:
    fold.was_interrupted = fold.is_fork_start = False
    return payload.is_continuation and fold.note_continuation()


@_HANDLERS.on(TurnFinished)
def _on_turn_finished(fold: ModelMessages, ev: Envelope, payload: TurnFinished) -> bool:
    if payload.reason != "interrupted" or fold.is_fork_start:
        return False
    note = CRASHED if fold.was_interrupted else INTERRUPTED
    return fold.add_note(UserMessage(content=(TextContent(text=note),), seq=ev.seq))
