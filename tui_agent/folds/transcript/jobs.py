"""Handlers for background jobs in the chat: a row when a job has ended."""

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.transcript.entries import NoticeLevel
from tui_agent.folds.transcript.state import Draft
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.job import JobFinished, JobStarted

ON_JOBS: Handlers[Draft] = Handlers()


@ON_JOBS.on(JobStarted)
def _on_job_started(draft: Draft, ev: Envelope, payload: JobStarted) -> bool:
    draft.jobs[payload.job_id] = payload.command
    return False


@ON_JOBS.on(JobFinished)
def _on_job_finished(draft: Draft, ev: Envelope, payload: JobFinished) -> None:
    command = draft.jobs.pop(payload.job_id, "")
    label = f"{payload.job_id} {command.splitlines()[0]}" if command else str(payload.job_id)
    draft.notice(ev, "job", _level(payload), (f"{label}: {_describe_end(payload)}",))


def _level(payload: JobFinished) -> NoticeLevel:
    if payload.ended in ("lost", "failed"):
        return "warning"
    return "error" if payload.ended == "exited" and payload.exit_code else "info"


def _describe_end(payload: JobFinished) -> str:
    match payload.ended:
        case "exited":
            return f"ended, exit {payload.exit_code}" if payload.exit_code is not None else "ended"
        case "stopped":
            return f"ended by {'you' if payload.stopped_by == 'user' else 'the agent'}"
        case "session":
            return "ended with the session"
        case "failed":
            return f"could not be started. {payload.message}".rstrip()
        case "lost":
            return "lost: the program crashed while it ran"
