"""Texts for the model, in the conversation: mentions, and notes about hooks, jobs, forks and plans.

Invariant: an edited plan counts as approved only if the user chose to approve it.
"""

import json
from collections.abc import Iterator

from tui_agent.protocol.events.hook import HookRan
from tui_agent.protocol.events.job import STOP_REASONS, JobEnd, JobFinished
from tui_agent.protocol.events.session import ForkChange, WorkspaceKind
from tui_agent.protocol.events.turn import QuestionAnswered, QuestionAsked
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.messages import Message, UserMessage
from tui_agent.protocol.parts import Content, ImageContent, TextContent
from tui_agent.protocol.stored_text import LongText
from tui_agent.protocol.unicode_text import escape_unprintable, list_first
from tui_agent.units import format_bytes, format_duration

_JOB = "[Background job "
_JOB_ENDS: dict[JobEnd, str] = {
    "exited": "ended by itself",
    "stopped": "was stopped",
    "session": "was stopped when the session ended",
    "forked": "does not run in this fork of the session",
    "failed": "could not be started",
    "lost": "was lost: tui-agent crashed while the job ran",
}
_MAX_FOLDERS = 8
"""Maximum number of left-out folders that the note about a fork names."""
_FORK_NOTES: dict[WorkspaceKind, str] = {
    "copy": "[This session now works in a copy of its folder, without {missing}.]",
    "copy_without_git": "[This session now works in a copy of its folder, without {missing}. The copy has no .git, so"
    " git does not work.]",
    "worktree": "[This session now works in a new git work tree, without {missing}.]",
}


def message_content(text: LongText, attachments: tuple[ImageContent, ...]) -> tuple[Content, ...]:
    """Return the content of a user's message."""
    if text == "" and attachments:
        return attachments
    return (TextContent(text=text), *attachments)


def mention_messages(mentions: tuple[Mention, ...], seq: int) -> list[UserMessage]:
    """Return the contents of mentions, and the reasons why files were not attached, as a separate message."""
    pieces: list[Content] = []
    for mention in mentions:
        if mention.text:
            pieces.append(TextContent(text=mention.text))
        elif mention.kind == "refused":
            name = escape_unprintable(mention.reference)
            pieces.append(TextContent(text=f"[{name} was not attached: {mention.note}]"))
        if mention.image is not None:
            pieces.append(mention.image)
    return [UserMessage(content=tuple(pieces), seq=seq, origin="mentions")] if pieces else []


def fork_note(changes: ForkChange) -> TextContent | None:
    """Return the note that tells the model about a fork's own folder; None if the fork works in its parent's folder."""
    text = _FORK_NOTES.get(changes.workspace_kind)
    if text is None:
        return None
    folders = list_first([escape_unprintable(name) for name in changes.left_out_folders], _MAX_FOLDERS)
    missing = f"ignored files and the generated folders {folders}" if folders else "ignored files"
    return TextContent(text=text.format(missing=missing))


def hook_notes(payload: HookRan) -> Iterator[TextContent]:
    """Yield notes for the model about the effect of a hook."""
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


def job_note(payload: JobFinished) -> TextContent:
    """Return the note about the end of a background job."""
    seconds = f" after {format_duration(payload.duration_ms / 1000)}" if payload.duration_ms else ""
    status = f", exit {payload.exit_code}" if payload.exit_code is not None else ""
    printed = f"; {format_bytes(payload.size)} printed" if payload.size else ""
    text = f"{_JOB}{payload.job_id} {_JOB_ENDS[payload.end]}{seconds}{STOP_REASONS[payload.stopped_by]}{status}{printed}.]"
    return TextContent(text=text)


def is_job_note(message: Message, job: str) -> bool:
    """Return True if the message is a note about the end of a job whose id starts with `job`."""
    first = message.content[0] if isinstance(message, UserMessage) and message.content else None
    text = first.text if isinstance(first, TextContent) else ""
    return isinstance(text, str) and text.startswith(_JOB + job)


def own_words(plan: QuestionAsked, answer: QuestionAnswered) -> LongText:
    """Return the edited plan or the reason for the refusal, or an empty text."""
    # An answer without own words repeats the plan or the option.
    return "" if answer.answer in (plan.text, *plan.options) else answer.answer


def approved_plan(plan: QuestionAsked, answer: QuestionAnswered) -> LongText:
    """Return the plan that the user approved, as the user edited it, or an empty text if the plan was refused."""
    is_approved = answer.choice is not None and answer.choice < len(plan.options) - 1
    return (own_words(plan, answer) or plan.text) if is_approved else ""
