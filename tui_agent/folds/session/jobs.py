"""The background jobs of a session as `/jobs` shows them: those that run, and those that have ended.

Invariant: of what a job prints the newest `TAIL` characters are held; taking a piece in costs no more than that.
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.job import JobEnd, JobFinished, JobProgress, JobStarted
from tui_agent.protocol.events.session import RunStarted
from tui_agent.protocol.ids import CallId, JobId

TAIL = 32 * 1024
"""Characters of a job's output that are held."""
_SLACK = 2 * TAIL
JobState: TypeAlias = Literal["running"] | JobEnd


@dataclass(frozen=True, slots=True)
class JobView:
    """One job. `output` is the end of what it printed; `whole` all that was kept, once it has ended."""

    job_id: JobId
    command: str
    cwd: str
    call_id: CallId
    seq: int
    started_at: float
    state: JobState = "running"
    ended_at: float | None = None
    exit_code: int | None = None
    output: str = ""
    whole: LongText = ""
    size: int = 0
    dropped: int = 0
    stopped_by: str = ""
    message: str = ""

    @property
    def running(self) -> bool:
        """Whether it runs, as far as is known."""
        return self.state == "running"

    @property
    def last_line(self) -> str:
        """The newest line that is not empty."""
        return next((line for line in reversed(self.output.splitlines()) if line.strip()), "")

    @property
    def outcome(self) -> str:
        """How it ended, in few words; `running` as long as it does."""
        by = {"user": " by you", "agent": " by the agent"}.get(self.stopped_by, "")
        match self.state:
            case "running":
                return "running"
            case "exited":
                return f"exit {self.exit_code}" if self.exit_code is not None else "ended"
            case "stopped":
                return f"ended{by}"
            case "session":
                return "ended with session"
            case "failed":
                return "not started"
            case "lost":
                return "lost with program"


@dataclass(frozen=True, slots=True)
class JobsView:
    """All jobs, in the order of their start; `running` is how many run."""

    jobs: tuple[JobView, ...] = ()
    running: int = 0


TAKES = (JobStarted, JobProgress, JobFinished, RunStarted)
"""The events that change it."""


class Jobs:
    """Folds `job.*`. A job that a later run finds open is lost: its process ended with the run before."""

    def __init__(self) -> None:
        self._jobs: dict[JobId, JobView] = {}
        self._view: JobsView | None = JobsView()

    def apply(self, ev: Envelope) -> bool:
        """Take one event in; True if something changed."""
        match ev.payload:
            case JobStarted() as begun:
                self._jobs.pop(begun.job_id, None)
                self._jobs[begun.job_id] = JobView(
                    begun.job_id, begun.command, begun.cwd, begun.call_id, ev.seq, ev.at
                )
            case JobProgress(job_id=job_id) as printed if job_id in self._jobs:
                job = self._jobs[job_id]
                output = job.output + printed.text
                output = output[-TAIL:] if len(output) > _SLACK else output
                self._jobs[job_id] = replace(job, output=output, size=printed.size)
            case JobFinished(job_id=job_id) as end if job_id in self._jobs:
                self._jobs[job_id] = _ended(self._jobs[job_id], ev, end)
            case RunStarted():
                return self._lose(ev)
            case _:
                return False
        self._view = None
        return True

    def view(self) -> JobsView:
        """The jobs as they are now."""
        if self._view is None:
            jobs = tuple(self._jobs.values())
            self._view = JobsView(jobs, sum(job.running for job in jobs))
        return self._view

    def _lose(self, ev: Envelope) -> bool:
        open_jobs = [job for job in self._jobs.values() if job.running]
        for job in open_jobs:
            self._jobs[job.job_id] = replace(job, state="lost", ended_at=ev.at)
        if open_jobs:
            self._view = None
        return bool(open_jobs)


def without_engine(view: JobsView, at: float) -> JobsView:
    """The jobs when the engine that held them is gone: those that ran ended with it, `at` the newest that is known."""
    gone = (replace(job, state="lost", ended_at=at) if job.running else job for job in view.jobs)
    return JobsView(tuple(gone)) if view.running else view


def _ended(job: JobView, ev: Envelope, end: JobFinished) -> JobView:
    kept = text_preview(end.output)
    return replace(
        job,
        state=end.ended,
        ended_at=job.ended_at or ev.at,
        exit_code=end.exit_code,
        output=job.output or kept[-TAIL:],
        whole=end.output,
        size=max(job.size, end.size),
        dropped=end.dropped,
        stopped_by=end.stopped_by,
        message=end.message,
    )
