"""The log as the history that one agent's model sees.

Invariant: whenever no call is open the view is legal (`protocol.messages.check_pairs`): each call of an answer is
followed by its one result, and what a person said meanwhile stands behind the results.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tui_agent.folds.context.compacted_history import Forgotten, ForgottenState, called
from tui_agent.folds.context.instructions import joining
from tui_agent.folds.dispatch import Handlers
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import BlobText, LongText, lean
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
GONE_ON = "[The user interrupted here, and now lets you go on.]"
BROKEN_OFF = "[The program ended here, in the middle of the turn, and was started again.]"
_JOB = "[Background job "
_JOB_ENDS: dict[JobEnd, str] = {
    "exited": "ended by itself",
    "stopped": "was ended by the user",
    "session": "was ended with the session",
    "failed": "could not be started",
    "lost": "is gone: the program ended while it ran",
}


MAP_BEGINS, MAP_ENDS = "<repo_map>", "</repo_map>"


@dataclass(frozen=True, slots=True)
class MessagesState:
    """All that a history holds, to be kept and taken up again."""

    agent: AgentId
    messages: tuple[Message, ...]
    late: tuple[Message, ...]
    open: tuple[CallId, ...]
    profiles: dict[RequestId, str]
    task: int | None
    broken: bool
    forgotten: ForgottenState = field(default_factory=ForgottenState)
    answers: int = 0
    opening: LongText = ""


class ModelMessages:
    """Folds one agent's events into its history.

    What the user says while calls run (`user.steered`, a shell command) waits at the end of the view, and is put in
    place by the next `model.requested`.
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
        """How many answers were given, those behind summaries too."""
        self.opening: LongText = ""
        """The words that the conversation began with: a person's, or a delegate's task."""
        self.forgotten = Forgotten()
        """What can be brought back."""
        self.broken = False
        """The turn that runs was left open by a run that is gone."""
        self.forked = False
        """No turn began since the session was forked: one that ends now only stands open where the fork begins."""

    def kept(self) -> MessagesState:
        """The state, for `taken_up`."""
        return MessagesState(
            self.agent,
            tuple(self._messages),
            tuple(self._late),
            tuple(self._open),
            dict(self._profiles),
            self._task,
            self.broken,
            self.forgotten.kept(),
            self.answers,
            self.opening,
        )

    @classmethod
    def taken_up(cls, kept: MessagesState) -> "ModelMessages":
        """A history that goes on from a state."""
        made = cls(kept.agent)
        made._messages, made._late = [[_lean(one) for one in some] for some in (kept.messages, kept.late)]
        made._open, made._profiles = set(kept.open), dict(kept.profiles)
        made._task, made.broken = kept.task, kept.broken
        made.forgotten, made.answers = Forgotten(kept.forgotten), kept.answers
        made.opening = kept.opening
        return made

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if the history changed."""
        if ev.agent != self.agent:
            return False
        changed = _HANDLERS.apply(self, ev)
        if changed:
            self._view = None
        return changed

    def view(self) -> tuple[Message, ...]:
        """The history from its beginning (or its newest summary) to what waits to be sent."""
        if self._view is None:
            self._view = (*self._messages, *self._late)
        return self._view

    def add(self, message: Message) -> bool:
        """Put a person's message at the end: at once, or behind the results that are still to come."""
        (self._late if self._open or self._late else self._messages).append(_lean(message))
        return True

    def mark(self, message: Message) -> bool:
        """Put a note where the history stands, before what waits to be sent."""
        (self._late if self._open else self._messages).append(_lean(message))
        return True

    def goes_on(self) -> bool:
        """The agent goes on from here: where it had been interrupted, that is told too.

        By the user; or, where calls are still open, by the end of the program, which left them to be asked about.
        """
        held = self._late if self._open else self._messages
        at = next((at for at in reversed(range(len(held))) if not _tells_of(held[at], "")), 0)
        last = held[at] if held else None
        if not isinstance(last, UserMessage) or last.content != (TextContent(text=INTERRUPTED),):
            return False
        words = BROKEN_OFF if self._open else GONE_ON
        held[at] = last.model_copy(update={"content": (TextContent(text=words),)})
        return True

    def delay(self, message: Message) -> bool:
        """Put a message at the end of the view until the next request."""
        self._late.append(_lean(message))
        return True

    def told(self, job_id: str) -> None:
        """A call's result says how this job ended: the note of it that still waits is not needed."""
        self._late = [one for one in self._late if not _tells_of(one, f"{job_id} ")]

    def task(self, text: LongText, seq: int) -> bool:
        """The delegate's task: its first message, unless the same comes again as the message that opens its turn."""
        self._task = len(self._messages)
        return self.add(UserMessage(content=(TextContent(text=text),), seq=seq))

    def opens(self, message: UserMessage) -> bool:
        """A message that opens a turn; a delegate's first one takes the place of its task."""
        if self._task is not None and self._task < len(self._messages):
            self._messages[self._task] = _lean(message)
            self._task = None
            return True
        return self.add(message)

    def request(self, request_id: RequestId, profile: str) -> bool:
        """A request goes out: what waited is part of it."""
        self._profiles[request_id] = profile
        self._task = None
        if not self._late or self._open:
            return False
        self._messages += self._late
        self._late = []
        return True

    def answer(self, request_id: RequestId, parts: tuple[ModelPart, ...], seq: int) -> bool:
        """The model's answer, and the calls that it opens."""
        profile = self._profiles.pop(request_id, "")
        if not parts:
            return False
        self._messages.append(_lean(AssistantMessage(parts=parts, model=profile, seq=seq)))
        self.answers += 1
        self._open.update(part.call_id for part in parts if isinstance(part, ToolCallPart))
        return True

    def result(self, message: ToolMessage) -> bool:
        """A call's result; one that this history never asked for is left out."""
        if message.call_id not in self._open:
            return False
        self._open.discard(message.call_id)
        self._messages.append(_lean(message))
        return True

    def compact(self, through: int, summary: SummaryMessage) -> bool:
        """Let `summary` stand for everything up to `through`; results whose call is gone go with it."""
        self._messages = self.forgotten.compact(self._messages, through, lean(summary))
        self._open &= called(self._messages)
        self._task = None
        return True

    def reduce(self, artifacts: dict[CallId, Artifact]) -> bool:
        """Let a line stand for each of these results."""
        self._messages = self.forgotten.reduce(self._messages, artifacts)
        return True

    def restore(self, seqs: Collection[int], compaction: int | None, now: int) -> bool:
        """Bring these messages back, or all that the newest compaction took."""
        if compaction is not None:
            self._messages = self.forgotten.undo(self._messages, compaction, self._open)
            return True
        self._messages, back = self.forgotten.restore(self._messages, seqs, now)
        for message in back:
            self.add(message)
        return True

    def originals(self) -> tuple[Message, ...]:
        """The whole history, whatever was put away."""
        return (*self.forgotten.originals(self._messages), *self._late)

    def preface(self, message: Message) -> bool:
        """Put a message before everything else."""
        self._messages.insert(0, message)
        return True


_HANDLERS: Handlers[ModelMessages] = Handlers()


def _lean(message: Message) -> Message:
    match message:
        case UserMessage(content=pieces) | ToolMessage(content=pieces) | AssistantMessage(parts=pieces):
            return lean(message, pieces)
        case SummaryMessage():
            return lean(message)


def _content(text: LongText, attachments: tuple[ImageContent, ...]) -> tuple[Content, ...]:
    if text == "" and attachments:
        return attachments
    return (TextContent(text=text), *attachments)


def _mentioned(mentions: tuple[Mention, ...], seq: int) -> list[UserMessage]:
    """What a message mentions, as a message of its own behind it: it may give way where there is no room, the user's
    words do not."""
    pieces: list[Content] = []
    for one in mentions:
        if one.text:
            pieces.append(TextContent(text=one.text))
        if one.image is not None:
            pieces.append(one.image)
    return [UserMessage(content=tuple(pieces), seq=seq, kind="mentions")] if pieces else []


@_HANDLERS.on(UserMessageReceived)
def _on_user_message_received(fold: ModelMessages, ev: Envelope, payload: UserMessageReceived) -> bool:
    fold.opening = fold.opening or payload.text
    fold.forgotten.spoken[ev.seq] = None
    fold.opens(UserMessage(content=_content(payload.text, payload.attachments), seq=ev.seq))
    for message in _mentioned(payload.mentions, ev.seq):
        fold.add(message)
    return True


@_HANDLERS.on(UserSteered)
def _on_user_steered(fold: ModelMessages, ev: Envelope, payload: UserSteered) -> bool:
    fold.forgotten.spoken[ev.seq] = None
    fold.delay(UserMessage(content=_content(payload.text, payload.attachments), seq=ev.seq))
    for message in _mentioned(payload.mentions, ev.seq):
        fold.delay(message)
    return True


@_HANDLERS.on(UserShellFinished)
def _on_user_shell_finished(fold: ModelMessages, ev: Envelope, payload: UserShellFinished) -> bool:
    if payload.hidden:
        return False
    seconds = payload.duration_ms / 1_000
    end = {
        "interrupted": f"the user stopped it after {seconds:.0f} s",
        "timeout": f"stopped after {seconds:.0f} s, its time limit",
        "failed": "it could not be run",
        "lost": "the program ended while it ran; what it did is not known",
    }.get(payload.ended, "did not end" if payload.exit_code is None else f"exit status {payload.exit_code}")
    head = f"[The user ran a command: {payload.command} ({end}). Its output:]"
    if isinstance(payload.output, BlobText):
        content: tuple[Content, ...] = (TextContent(text=head), TextContent(text=payload.output))
    else:
        content = (TextContent(text=f"{head}\n{payload.output}"),)
    return fold.add(UserMessage(content=content, seq=ev.seq))


@_HANDLERS.on(HookRan)
def _on_hook_ran(fold: ModelMessages, ev: Envelope, payload: HookRan) -> bool:
    if payload.event == "before_compaction":  # what it adds is for the summary
        return False
    pieces = list(_hook_pieces(payload))
    return bool(pieces) and fold.add(UserMessage(content=tuple(pieces), seq=ev.seq))


def _hook_pieces(payload: HookRan) -> Iterator[TextContent]:
    """What the model is told of a hook. Why a call was refused stands in the call's own result."""
    about = payload.event.replace("_", " ")
    if payload.changed:
        now = json.dumps(payload.arguments, ensure_ascii=False)
        yield TextContent(
            text=f"[A hook ({about}) changed the arguments of call {payload.call_id} to: {now}]"
        )
    if payload.decision == "deny" and payload.event == "after_tool":
        yield TextContent(text=f"[A hook ({about}) objects to call {payload.call_id}: {payload.reason}]")
    if payload.context:
        of = f" of call {payload.call_id}" if payload.call_id else ""
        yield TextContent(text=f"[A hook ({about}{of}) adds:]")
        yield TextContent(text=payload.context)


@_HANDLERS.on(AgentSpawned)
def _on_agent_spawned(fold: ModelMessages, ev: Envelope, payload: AgentSpawned) -> bool:
    fold.opening = payload.task
    fold.forgotten.spoken[ev.seq] = None
    return fold.task(payload.task, ev.seq)


@_HANDLERS.on(SessionContextLoaded)
def _on_session_context_loaded(fold: ModelMessages, ev: Envelope, payload: SessionContextLoaded) -> bool:
    return fold.preface(SummaryMessage(text=payload.summary, seq=ev.seq))


@_HANDLERS.on(InstructionsLoaded)
def _on_instructions_loaded(fold: ModelMessages, ev: Envelope, payload: InstructionsLoaded) -> bool:
    content = joining(payload)
    return bool(content) and fold.add(UserMessage(content=content, seq=ev.seq, kind="instructions"))


@_HANDLERS.on(RepomapUsed)
def _on_repomap_used(fold: ModelMessages, ev: Envelope, payload: RepomapUsed) -> bool:
    if not payload.injected or not payload.text:
        return False
    before, behind = TextContent(text=MAP_BEGINS), TextContent(text=MAP_ENDS)
    content = (before, TextContent(text=payload.text), behind)
    return fold.add(UserMessage(content=content, seq=ev.seq, kind="map"))


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
            fold.forgotten.pinned[seq] = None
        else:
            fold.forgotten.pinned.pop(seq, None)
    return False


@_HANDLERS.on(ModelRequested)
def _on_model_requested(fold: ModelMessages, ev: Envelope, payload: ModelRequested) -> bool:
    return fold.request(payload.request_id, payload.model.profile)


@_HANDLERS.on(ModelResponded)
def _on_model_responded(fold: ModelMessages, ev: Envelope, payload: ModelResponded) -> bool:
    return fold.answer(payload.request_id, payload.parts, ev.seq)


@_HANDLERS.on(ModelFailed)
def _on_model_failed(fold: ModelMessages, ev: Envelope, payload: ModelFailed) -> bool:
    partial = payload.partial
    own = payload.request_id in fold._profiles
    if not own or payload.fault != "cancelled" or (isinstance(partial, str) and not partial.strip()):
        return False
    return fold.answer(payload.request_id, (TextPart(text=partial),), ev.seq)


def _tells_of(message: Message, job: str) -> bool:
    """Whether it is the note of a job's end."""
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
    text = f"{_JOB}{payload.job_id} {_JOB_ENDS[payload.ended]}{seconds}{status}{printed}.]"
    return fold.delay(UserMessage(content=(TextContent(text=text),), seq=ev.seq))


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(fold: ModelMessages, ev: Envelope, payload: ToolFinished) -> bool:
    if payload.data.get("state", "running") != "running":
        fold.told(str(payload.data.get("job_id")))
    return fold.result(
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
    """What the whole of a result is kept as; of one that was read of an artifact, that one."""
    if end.artifact is not None:
        return end.artifact.id
    read = end.data.get("artifact_id")
    return read if isinstance(read, str) else ""


@_HANDLERS.on(RunStarted)
def _on_run_started(fold: ModelMessages, ev: Envelope, payload: RunStarted) -> bool:
    fold.broken = True
    return False


@_HANDLERS.on(SessionForked)
def _on_session_forked(fold: ModelMessages, ev: Envelope, payload: SessionForked) -> bool:
    fold.forked = True
    return False


@_HANDLERS.on(TurnStarted)
def _on_turn_started(fold: ModelMessages, ev: Envelope, payload: TurnStarted) -> bool:
    fold.broken = fold.forked = False
    return payload.goes_on and fold.goes_on()


@_HANDLERS.on(TurnFinished)
def _on_turn_finished(fold: ModelMessages, ev: Envelope, payload: TurnFinished) -> bool:
    if payload.reason != "interrupted" or fold.forked:
        return False
    words = BROKEN_OFF if fold.broken else INTERRUPTED
    return fold.mark(UserMessage(content=(TextContent(text=words),), seq=ev.seq))
