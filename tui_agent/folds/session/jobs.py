"""The background jobs of a session, running and ended, as shown by `/jobs`.

Invariant: at most the newest `_MAX_OUTPUT_CHARS` characters of a job's output are stored.
"""

from dataclasses import replace
from typing import Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.job import JobEnd, JobFinished, JobProgress, JobStarted
from tui_agent.protocol.events.session import RunStarted
from tui_agent.protocol.ids import CallId, JobId
from tui_agent.protocol.stored_text import LongText, text_preview

OUTPUT_TAIL_CHARS = 32 * 1024
"""When a job's output is cut, this many characters at its end are kept."""
_MAX_OUTPUT_CHARS = 2 * OUTPUT_TAIL_CHARS
"""When a job's output is longer than this many characters, it is cut."""
JobState: TypeAlias = Literal["running"] | JobEnd


@dataclass(frozen=True, slots=True)
class JobView:
    """A background job.

    - `output`: newest output.
    - `full_output`: all output that the log has of the job. Empty while the job runs.
    """

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
    full_output: LongText = ""
    size: int = 0
    dropped: int = 0
    stopped_by: str = ""
    message: str = ""

    @property
    def is_running(self) -> bool:
        """True if the log does not record the job's end."""
        return self.state == "running"

    @property
    def last_line(self) -> str:
        """The newest non-empty line of output."""
        return next((line for line in reversed(self.output.splitlines()) if line.strip()), "")

    @property
    def outcome(self) -> str:
        """A short description of the job's state, e.g. `running`, `exit 0` or `stopped by you`."""
        suffix = {"user": " by you", "agent": " by the agent", "rewind": " by undo"}.get(self.stopped_by, "")
        match self.state:
            case "running":
                return "running"
            case "exited":
                return f"exit {self.exit_code}" if self.exit_code is not None else "ended"
            case "stopped":
                return f"stopped{suffix}"
            case "session":
                return "ended with the session"
            case "forked":
                return "not in this fork"
            case "failed":
                return "not started"
            case "lost":
                return "ended with the program"


@dataclass(frozen=True, slots=True)
class JobsView:
    """All jobs in the order of their start, with the number of running jobs."""

    jobs: tuple[JobView, ...] = ()
    running: int = 0


TAKES = (JobStarted, JobProgress, JobFinished, RunStarted)
"""The classes of event payloads that `Jobs` handles."""


class Jobs:
    """Collects the background jobs from `job.*` events."""

    def __init__(self) -> None:
        self._jobs: dict[JobId, JobView] = {}
        self._view: JobsView | None = JobsView()

    def apply(self, ev: Envelope) -> bool:
        match ev.payload:
            case JobStarted() as start:
                self._jobs.pop(start.job_id, None)
                self._jobs[start.job_id] = JobView(
                    start.job_id, start.command, start.cwd, start.call_id, ev.seq, ev.time
                )
            case JobProgress(job_id=job_id) as progress if job_id in self._jobs:
                job = self._jobs[job_id]
                output = job.output + progress.text
                output = output[-OUTPUT_TAIL_CHARS:] if len(output) > _MAX_OUTPUT_CHARS else output
                self._jobs[job_id] = replace(job, output=output, size=progress.size)
            case JobFinished(job_id=job_id) as end if job_id in self._jobs:
                self._jobs[job_id] = _end_job(self._jobs[job_id], ev, end)
            case RunStarted() if self.view().running:
                jobs = mark_jobs_lost(self.view(), ev.time).jobs
                self._jobs = {job.job_id: job for job in jobs}
            case _:
                return False
        self._view = None
        return True

    def view(self) -> JobsView:
        if self._view is None:
            jobs = tuple(self._jobs.values())
            self._view = JobsView(jobs, sum(job.is_running for job in jobs))
        return self._view


def mark_jobs_lost(view: JobsView, ended_at: float) -> JobsView:
    """Return the jobs after their engine ended at `ended_at` (seconds since the epoch): running jobs become `lost`."""
    jobs = (replace(job, state="lost", ended_at=ended_at) if job.is_running else job for job in view.jobs)
    return JobsView(tuple(jobs)) if view.running else view


def _end_job(job: JobView, ev: Envelope, end: JobFinished) -> JobView:
    output = text_preview(end.output)
    return replace(
        job,
        state=end.end,
        ended_at=job.ended_at or ev.time,
        exit_code=end.exit_code,
        output=job.output or output[-OUTPUT_TAIL_CHARS:],
        full_output=end.output,
        size=max(job.size, end.size),
        dropped=end.dropped_bytes,
        stopped_by=end.stopped_by,
        message=end.message,
    )
