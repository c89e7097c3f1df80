"""Notes to the model, in the conversation, about hooks, background jobs and the folder of a fork."""

import json
from collections.abc import Iterator

from tui_agent.protocol.events.hook import HookRan
from tui_agent.protocol.events.job import STOP_REASONS, JobEnd, JobFinished
from tui_agent.protocol.events.session import ForkChange, WorkspaceKind
from tui_agent.protocol.messages import Message, UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.units import format_bytes, format_duration

_JOB = "[Background job "
_JOB_ENDS: dict[JobEnd, str] = {
    "exited": "ended by itself",
    "stopped": "was stopped",
    "session": "was stopped when the session ended",
    "failed": "could not be started",
    "lost": "was lost: tui-agent crashed while the job ran",
}
_WITHOUT_IGNORED = "without ignored files such as .venv or node_modules"
_FORK_NOTES: dict[WorkspaceKind, str] = {
    "copy": f"[This session now works in a copy of its folder, {_WITHOUT_IGNORED}.]",
    "copy_without_git": f"[This session now works in a copy of its folder, {_WITHOUT_IGNORED}. The copy"
    " has no .git, so git does not work.]",
    "worktree": f"[This session now works in a new git work tree, {_WITHOUT_IGNORED}.]",
}


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
