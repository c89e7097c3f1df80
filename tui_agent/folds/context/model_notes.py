"""Texts for the model, in the conversation: mentions, and notes about hooks, jobs, forks and plans.

Invariant: an edited plan counts as approved only if the user chose to approve it.
"""

import json
from collections.abc import Iterator

from tui_agent.protocol.base import LongText
from tui_agent.protocol.events.hook import HookRan
from tui_agent.protocol.events.job import STOP_REASONS, JobEnd, JobFinished
from tui_agent.protocol.events.session import ForkChange, WorkspaceKind
from tui_agent.protocol.events.turn import QuestionAnswered, QuestionAsked
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.messages import Message, UserMessage
from tui_agent.protocol.parts import Content, ImageContent, TextContent
from tui_agent.protocol.unicode_text import escape_unprintable
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
# Checkpoints hold a `.venv` that git does not ignore, and its editable installs name the old folder.
_OLD_ENVIRONMENT = "A virtual environment here may still use the old folder's code."
_FORK_NOTES: dict[WorkspaceKind, str] = {
    "copy": f"[This session now works in a copy of its folder, without ignored files. {_OLD_ENVIRONMENT}]",
    "copy_without_git": "[This session now works in a copy of its folder, without ignored files. The copy has no"
    f" .git, so git does not work. {_OLD_ENVIRONMENT}]",
    "worktree": f"[This session now works in a new git work tree, without ignored files. {_OLD_ENVIRONMENT}]",
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
    """Return the note about what the folder of a fork lacks; None if the fork works in its parent's folder."""
    text = _FORK_NOTES.get(changes.workspace_kind)
    return None if text is None else TextContent(text=text)


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
    """Return the plan that the user approved, as the user edited it, or an empty text if it was refused."""
    is_approved = answer.choice is not None and answer.choice < len(plan.options) - 1
    return (own_words(plan, answer) or plan.text) if is_approved else ""
