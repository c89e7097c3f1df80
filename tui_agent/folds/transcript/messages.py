"""Chat handlers for events of the conversation: messages, streamed answers, questions and turns."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.transcript.entries import (
    AnswerEntry,
    Entry,
    NoticeEntry,
    QuestionEntry,
    ReasoningEntry,
    TurnEntry,
    UserEntry,
)
from tui_agent.folds.transcript.transcript_state import Draft, TurnSums
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.model import (
    ModelDelta,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    ModelRetried,
)
from tui_agent.protocol.events.turn import (
    IterationStarted,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserQueued,
    UserSteered,
    UserUnqueued,
)
from tui_agent.protocol.ids import MAIN_AGENT, RequestId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import ReasoningPart, TextPart
from tui_agent.protocol.settings import AgentState
from tui_agent.protocol.stored_text import BlobText, LongText
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_elapsed

MESSAGE_HANDLERS: Handlers[Draft] = Handlers()

ASKING_TOOLS = frozenset({"ask_user", "present_plan"})
"""Tools that only ask the user a question."""
_FAULTS = {
    "rate_limit": "The provider's rate limit was reached.",
    "overloaded": "The provider is overloaded.",
    "server_error": "The provider's server failed.",
    "transport": "The model server cannot be reached.",
    "timeout": "The model took too long to answer.",
    "cut": "The answer was cut off.",
    "empty": "The model gave an empty answer.",
    "overflow": "The request does not fit the model's context window.",
    "auth": "The provider rejected the API key.",
    "malformed": "The model's answer was not valid.",
    "refusal": "The model refused to answer.",
    "invalid_request": "The provider rejected the request.",
    "script": "The scripted model does not expect this request.",
}

_AFTER_REFUSED_KEY = "send an empty message to try again · /provider enter a key · /model use another model · /doctor check all"
_AFTER_FAILURE = "send an empty message to try again · /model use another model · /trace see the attempts · /doctor check all"


def _is_empty(text: LongText) -> bool:
    return isinstance(text, str) and not text.strip()


@MESSAGE_HANDLERS.on(UserMessageReceived, main_only=True)
def _on_user_message_received(draft: Draft, ev: Envelope, payload: UserMessageReceived) -> None:
    if payload.queue_id is not None:
        draft.unqueue(payload.queue_id)
    turn = draft.turn if draft.turn_running else max(draft.turn, draft.undone_turn) + 1
    head = draft.entry_fields(ev, f"user.{ev.seq}", turn=turn)
    mentions = _without_texts(payload.mentions)
    content = (payload.text, payload.attachments)
    sources = (payload.command, payload.own_words)
    without_images = _model_without_images(draft, payload)
    draft.add(UserEntry(*head, *content, "sent", payload.queue_id, mentions, *sources, without_images))


def _model_without_images(draft: Draft, payload: UserMessageReceived | UserSteered) -> str:
    """Return the name of the session's model if the model cannot get the message's images; otherwise an empty text."""
    return draft.model_without_images if payload.attachments else ""


def _without_texts(mentions: tuple[Mention, ...]) -> tuple[Mention, ...]:
    return tuple(mention.model_copy(update={"text": ""}) for mention in mentions)


@MESSAGE_HANDLERS.on(UserQueued)
def _on_user_queued(draft: Draft, ev: Envelope, payload: UserQueued) -> None:
    head = draft.entry_fields(ev, f"user.{ev.seq}")
    content = (payload.text, payload.attachments)
    entry = UserEntry(*head, *content, "queued", payload.queue_id, own_words=payload.own_words)
    draft.queued[payload.queue_id] = draft.add(entry)


@MESSAGE_HANDLERS.on(UserUnqueued)
def _on_user_unqueued(draft: Draft, ev: Envelope, payload: UserUnqueued) -> None:
    draft.unqueue(payload.queue_id)


@MESSAGE_HANDLERS.on(UserSteered)
def _on_user_steered(draft: Draft, ev: Envelope, payload: UserSteered) -> None:
    head = draft.entry_fields(ev, f"user.{ev.seq}")
    mentions = _without_texts(payload.mentions)
    content = (payload.text, payload.attachments)
    draft.add(
        UserEntry(
            *head,
            *content,
            "steered",
            mentions=mentions,
            own_words=payload.own_words,
            images_left_out_for=_model_without_images(draft, payload),
        )
    )


@MESSAGE_HANDLERS.on(TurnStarted)
def _on_turn_started(draft: Draft, ev: Envelope, payload: TurnStarted) -> None:
    draft.turn, draft.turn_running, draft.sums = payload.turn, True, TurnSums()
    draft.turn_started_at, draft.crash_time, draft.failure = ev.time, None, None
    draft.reduction_notice = draft.overflow_notice = None
    if payload.is_continuation:
        draft.add_notice(ev, "resume", "info", ("The agent continues from here.",))


@MESSAGE_HANDLERS.on(IterationStarted)
def _on_iteration_started(draft: Draft, ev: Envelope, payload: IterationStarted) -> None:
    draft.sums.iterations += payload.delegate_level == 0


@MESSAGE_HANDLERS.on(TurnFinished)
def _on_turn_finished(draft: Draft, ev: Envelope, payload: TurnFinished) -> None:
    sums = draft.sums
    for question in tuple(draft.questions):
        draft.void_question(question)
    draft.question_calls.clear()
    if payload.reason == "model_error" and draft.failure is None and draft.overflow_notice is not None:
        _add_failure(draft, ev, (_FAULTS["overflow"], payload.detail))
    in_notice = payload.reason == "model_error" and _add_kept_work(draft)
    head = draft.entry_fields(ev, f"turn.{payload.turn}.{ev.seq}")
    draft.add(
        TurnEntry(
            *head,
            reason=payload.reason,
            detail="" if in_notice else payload.detail,
            duration_ms=payload.duration_ms or draft.elapsed_ms(draft.turn_started_at, ev),
            iterations=sums.iterations,
            cost_usd=sums.usage.cost_usd,
            cost_precision=sums.usage.cost_precision,
            has_unknown_changes=sums.has_unknown_changes,
            **sums.count_changes(),
        )
    )
    draft.turn_end = len(draft.entries) - 1
    draft.turn_running, draft.crash_time = False, None


def _add_kept_work(draft: Draft) -> bool:
    """Add two lines to the notice about a failure: the work that is kept, and the user's next options.

    Return False if the transcript has no notice about a failure.
    """
    entry = None if draft.failure is None else draft.entries[draft.failure]
    if draft.failure is None or not isinstance(entry, NoticeEntry):
        return False
    results, files = draft.sums.results, len(draft.sums.files)
    results_text = f" and {format_count(results, 'tool result')} are" if results else " is"
    changed = format_count(files, "file was", "files were") if files else "No file was"
    summary = f"Your message{results_text} kept. {changed} changed in this turn."
    is_refused_key = entry.lines[0] == _FAULTS["auth"]
    ways = _AFTER_REFUSED_KEY if is_refused_key else _AFTER_FAILURE
    draft.update_notice(draft.failure, "error", (*entry.lines, summary, ways))
    return True


@MESSAGE_HANDLERS.on(QuestionAsked)
def _on_question_asked(draft: Draft, ev: Envelope, payload: QuestionAsked) -> None:
    head = draft.entry_fields(ev, f"question.{payload.question_id}")
    entry = QuestionEntry(*head, payload.question_id, payload.text, payload.form, payload.options)
    draft.questions[payload.question_id] = draft.add(entry)
    for call_id, row in draft.tools.items():
        call = draft.tool_entry(row)
        is_asking = call is not None and call.agent == ev.agent and call.name in ASKING_TOOLS
        if call is not None and is_asking and call_id not in draft.question_calls:
            draft.question_calls[call_id] = payload.question_id
            draft.replace_entry(row, replace(call, is_question=True))
            break


@MESSAGE_HANDLERS.on(QuestionAnswered)
def _on_question_answered(draft: Draft, ev: Envelope, payload: QuestionAnswered) -> None:
    index = draft.questions.pop(payload.question_id, None)
    entry = None if index is None else draft.entries[index]
    if index is not None and isinstance(entry, QuestionEntry):
        draft.replace_entry(index, replace(entry, answer=payload.answer, choice=payload.choice))


@MESSAGE_HANDLERS.on(ModelRequested, main_only=True)
def _on_model_requested(draft: Draft, ev: Envelope, payload: ModelRequested) -> None:
    draft.model = payload.model.model


@MESSAGE_HANDLERS.on(ModelDelta)
def _on_model_delta(draft: Draft, ev: Envelope, payload: ModelDelta) -> None:
    if payload.part_kind == "tool_call" or ev.agent != MAIN_AGENT:
        return
    stream = draft.streams.setdefault(payload.request_id, {})
    index = stream.get(payload.part_index)
    if index is None:
        entry_id = _part_id(draft, payload.part_kind, payload.request_id, payload.part_index)
        head = draft.entry_fields(ev, entry_id)
        entry_class = ReasoningEntry if payload.part_kind == "reasoning" else AnswerEntry
        index = stream[payload.part_index] = draft.add(entry_class(*head, "", streaming=True))
    draft.append_text(index, payload.text)


@MESSAGE_HANDLERS.on(ModelResponded)
def _on_model_responded(draft: Draft, ev: Envelope, payload: ModelResponded) -> None:
    draft.sums.usage = draft.sums.usage.with_call(payload)
    if ev.agent != MAIN_AGENT:
        return
    request = payload.request_id
    stream = draft.streams.pop(request, {})
    unfinished = [stream[block] for block in sorted(stream)]
    for block, part in enumerate(payload.parts):
        if isinstance(part, TextPart | ReasoningPart):
            _finish_part(draft, ev, _part_id(draft, part.kind, request, block), part, unfinished)
    for index in unfinished:
        _finish_entry(draft, index, "")
    _settle_retry(draft, request, answered=True)


def _part_id(draft: Draft, kind: str, request: RequestId, block: int) -> str:
    """Return the id of the entry for a part of the answer. Each attempt of a repeated request has its own ids."""
    attempt, _ = draft.attempts.get(request, (1, ()))
    return f"{kind}.{request}.{block}" + (f".{attempt}" if attempt > 1 else "")


def _finish_part(
    draft: Draft, ev: Envelope, entry_id: str, part: TextPart | ReasoningPart, unfinished: list[int]
) -> None:
    """Set the final text of the first unfinished entry of the part's kind. If there is none, add an entry."""
    entry_class = AnswerEntry if isinstance(part, TextPart) else ReasoningEntry
    index = next(
        (candidate for candidate in unfinished if isinstance(draft.entries[candidate], entry_class)), None
    )
    if index is not None:
        unfinished.remove(index)
        _finish_entry(draft, index, part.text)
    elif not _is_empty(part.text):
        draft.add(entry_class(*draft.entry_fields(ev, entry_id), part.text, streaming=False))


def _finish_entry(draft: Draft, index: int, text: LongText, *, stopped: bool = False) -> None:
    entry = draft.streamed_entry(index)
    if entry is None:
        return
    # If the streamed text is complete, the blob need not be read.
    if isinstance(text, BlobText) and _has_digest_of(text, entry.text):
        text = entry.text
    entry = replace(entry, text=text, streaming=False)
    draft.replace_entry(index, replace(entry, stopped=stopped) if isinstance(entry, AnswerEntry) else entry)


def _has_digest_of(blob: BlobText, text: LongText) -> bool:
    if not isinstance(text, str):
        return False
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() == blob.blob_sha256


@MESSAGE_HANDLERS.on(ModelRetried, main_only=True)
def _on_model_retried(draft: Draft, ev: Envelope, payload: ModelRetried) -> None:
    # The next attempt gets new entries, below the retry notice. A reopened session shows them there too, because its
    # log has no text of the failed attempt.
    for index in draft.streams.pop(payload.request_id, {}).values():
        _finish_entry(draft, index, "")
    next_try = f"Attempt {payload.attempt + 1} in {format_elapsed(payload.wait_s)}."
    lines = (_FAULTS.get(payload.fault, ""), payload.message, next_try)
    _, faults = draft.attempts.get(payload.request_id, (0, ()))
    faults = tuple(dict.fromkeys((*faults, payload.fault)))
    draft.attempts[payload.request_id] = payload.attempt + 1, faults
    known = draft.retries.get(payload.request_id)
    if known is not None:
        draft.update_notice(known, "running", lines)
    else:
        draft.retries[payload.request_id] = draft.add_notice(ev, "retry", "running", lines)


@MESSAGE_HANDLERS.on(AgentStateChanged, main_only=True)
def _on_agent_state_changed(draft: Draft, ev: Envelope, payload: AgentStateChanged) -> None:
    if payload.state is not AgentState.RUNNING:
        return
    # The wait before the next attempt is over.
    for request, index in draft.retries.items():
        entry = draft.entries[index]
        if isinstance(entry, NoticeEntry):
            next_try = f"Attempt {draft.attempts[request][0]} is running."
            draft.update_notice(index, "running", (*entry.lines[:-1], next_try))


def _settle_retry(draft: Draft, request: RequestId, *, answered: bool) -> None:
    """Remove the line about the next try from the retry notice, and show the outcome."""
    index, (tries, faults) = draft.retries.pop(request, None), draft.attempts.pop(request, (0, ()))
    entry = None if index is None else draft.entries[index]
    if index is not None and isinstance(entry, NoticeEntry):
        lines = entry.lines[:-1]
        if len(faults) > 1:
            lines = (" ".join(_FAULTS.get(fault, "") for fault in faults),)
        last = (f"Attempt {tries} succeeded.",) if answered else ()
        draft.update_notice(index, "info", (*lines, *last))


@MESSAGE_HANDLERS.on(ModelFailed)
def _on_model_failed(draft: Draft, ev: Envelope, payload: ModelFailed) -> None:
    draft.sums.usage = draft.sums.usage.with_call(payload)
    if ev.agent != MAIN_AGENT:
        return
    retry = draft.retries.get(payload.request_id)
    partial_id = _part_id(draft, "text", payload.request_id, 0)
    _settle_retry(draft, payload.request_id, answered=False)
    stream = draft.streams.pop(payload.request_id, {})
    answers = _stop_entries(draft, [stream[block] for block in sorted(stream)])
    if not answers and not _is_empty(payload.partial):
        head = draft.entry_fields(ev, partial_id)
        draft.add(AnswerEntry(*head, payload.partial, streaming=False, stopped=True))
    if payload.fault == "overflow":
        _note_too_long(draft, ev)
    elif payload.fault != "cancelled":
        tries = f"Tried {payload.attempts} times." if payload.attempts > 1 else ""
        headline = _FAULTS.get(payload.fault, "The model failed.")
        lines = (headline, payload.message, tries, payload.hint)
        _add_failure(draft, ev, lines, retry)


def _add_failure(draft: Draft, ev: Envelope, lines: Sequence[str], retry: int | None = None) -> None:
    """Explain why the turn failed, in a new notice or in the retry notice with the index `retry`."""
    if retry is not None and all(_is_emptied(entry) for entry in draft.entries[retry + 1 :]):
        draft.update_notice(retry, "error", lines, "model_failed", draft.model)
        draft.failure = retry
    else:
        draft.failure = draft.add_notice(ev, "model_failed", "error", lines, command=draft.model)


def _is_emptied(entry: Entry) -> bool:
    """Return True for a part of an answer whose text was discarded."""
    return isinstance(entry, AnswerEntry | ReasoningEntry) and _is_empty(entry.text)


def _note_too_long(draft: Draft, ev: Envelope) -> None:
    """Add or update the notice that a request was too long and is sent again."""
    index, count = draft.overflow_notice or (-1, 0)
    times = f" {count + 1} times" if count else ""
    line = f"The request was too long for the provider{times}; it is shortened and sent again."
    if count:
        draft.update_notice(index, "info", (line,))
    else:
        index = draft.add_notice(ev, "context", "info", (line,))
    draft.overflow_notice = index, count + 1


def _stop_entries(draft: Draft, indices: Sequence[int]) -> int:
    answers = 0
    for index in indices:
        entry = draft.streamed_entry(index)
        if entry is not None:
            _finish_entry(draft, index, entry.text, stopped=True)
            answers += isinstance(entry, AnswerEntry) and not _is_empty(entry.text)
    return answers
