"""Background jobs: commands that continue to run after the call that started them.

Invariant: `job.started` is stored before the command starts, and `job.finished` always follows.
"""

import codecs
import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from tui_agent.engine.components import EngineParts
from tui_agent.engine.delta_merge import FlushTimer
from tui_agent.engine.tools.live_output import open_sampler
from tui_agent.engine.tools.sandbox_retry import SandboxGrant
from tui_agent.engine.tools.truncating_blobs import TruncatingBlobs
from tui_agent.errors import EnvironmentFault, StoreError, ToolError, TuiAgentError
from tui_agent.ports.environment import ExecResult, ExecSpec, workspace_sandbox
from tui_agent.ports.job import JobReport
from tui_agent.protocol.events.job import (
    STOP_REASONS,
    JobEnd,
    JobFinished,
    JobProgress,
    JobStarted,
    JobStopper,
)
from tui_agent.protocol.ids import AgentId, CallId, JobId

MAX_JOBS = 8
"""Maximum number of background jobs at the same time."""
MAX_ENDED_JOBS = 24
"""Maximum number of ended jobs that keep their output for reading."""
MAX_KEPT_BYTES = 1_000_000
"""Maximum size of a job's newest output in memory and in `job.finished`, in bytes."""
FIRST_OUTPUT_WAIT_S = 1.0
"""Maximum time that `start` waits for a new job to print something or to end, in seconds."""
FAILURE_WAIT_S = 0.3
"""Maximum time that `start` waits after the first output, in case the command fails at once, in seconds."""
TAIL_BYTES = 24_000
"""Size of the end of a job's output, in bytes, in which messages of the sandbox are searched."""
MAX_WAIT_S = 60.0
"""Maximum time that `read` waits for new output, in seconds."""
STOP_TIMEOUT_S = 6.0
"""Maximum time to wait until stopped jobs have ended, in seconds."""
SANDBOX_HINT = (
    "A background job cannot leave the sandbox. If the command must run outside, omit `background`, so the user can "
    "allow it."
)
_SERVER = re.compile(
    r"serve|listen|port\b|\b(?:dev|start)\b|uvicorn|gunicorn|flask|vite|localhost|://", re.IGNORECASE
)
"""Matches the command or the output of a server, and some others. A client that fails later gets its own note."""
NO_NETWORK = (
    "In the sandbox, nothing outside this command can connect to its ports. Run server and client in one command, or ask "
    "the user to start the server in a terminal."
)


class _Job:
    """A background job, running or ended."""

    def __init__(self, start: JobStarted, agent: AgentId, now: float) -> None:
        self.job_id = start.job_id
        self.command = start.command
        self.call_id = start.call_id
        self.agent = agent
        self.started_at = now
        self.duration = 0.0
        self.scope = anyio.CancelScope()
        self.changed = anyio.Event()
        self.ended = anyio.Event()
        self.state: JobEnd | None = None
        self.exit_code: int | None = None
        self.message = ""
        self.planned_end: JobEnd = "session"
        """Reason to record in `job.finished.end` if the job is cancelled."""
        self.stopped_by: JobStopper = ""
        self.size = 0
        self._newest = bytearray()
        self._read_to = 0

    def add_output(self, data: bytes) -> None:
        """Add new output to the buffer."""
        self.size += len(data)
        self._newest += data
        # Trim only after some excess, so that not every piece of output moves the whole buffer.
        if len(self._newest) > MAX_KEPT_BYTES + MAX_KEPT_BYTES // 4:
            del self._newest[: len(self._newest) - MAX_KEPT_BYTES]
        self.changed.set()

    @property
    def newest_output(self) -> bytes:
        return bytes(self._newest[-MAX_KEPT_BYTES:])

    def report(self, now: float) -> JobReport:
        output = self.newest_output
        oldest = self.size - len(output)
        start = max(self._read_to, oldest)
        missed, self._read_to = start - self._read_to, self.size
        self.changed = anyio.Event()
        return JobReport(
            self.job_id,
            self.command,
            self.state or "running",
            self.duration if self.state else now - self.started_at,
            self.exit_code,
            output[start - oldest :],
            missed,
            self.message,
            STOP_REASONS[self.stopped_by] if self.state == "stopped" else "",
        )

    @property
    def has_new_output(self) -> bool:
        return self.size > self._read_to


class JobManager:
    """Manager of a session's background jobs during one run of the program."""

    def __init__(
        self,
        parts: EngineParts,
        ticker: FlushTimer,
        on_trouble: Callable[[TuiAgentError], None],
        after_end: Callable[[], Awaitable[None]],
    ) -> None:
        """Create the manager. `after_end`: called after the end of each job is recorded."""
        self._parts = parts
        self._ticker = ticker
        self._on_trouble = on_trouble
        self._after_end = after_end
        self._jobs: dict[JobId, _Job] = {}
        self._group: TaskGroup | None = None

    def begin(self, group: TaskGroup) -> None:
        """Set the task group in which jobs run."""
        self._group = group

    def for_call(self, call_id: CallId, agent: AgentId, granted: SandboxGrant) -> "CallJobs":
        """Return the jobs service for a call."""
        return CallJobs(self, call_id, agent, granted)

    async def start(self, command: str, spec: ExecSpec, call_id: CallId, agent: AgentId) -> JobReport:
        """Start a background job for a call; see `ports.job.Jobs`."""
        running = self._running_ids()
        if len(running) >= MAX_JOBS:
            raise ToolError(
                f"The limit of {MAX_JOBS} background jobs is reached: {', '.join(running)}.",
                hint="Stop one first: read_job_output with stop=true.",
            )
        assert self._group is not None
        recorder, now = self._parts.recorder, self._parts.clock.monotonic()
        job_id = JobId(f"job-{recorder.state.job_count + 1}")
        start = JobStarted(job_id=job_id, command=command, cwd=spec.cwd, call_id=call_id)
        recorder.append(start, agent=agent)
        job = self._jobs[start.job_id] = _Job(start, agent, now)
        self._drop_oldest_ended()
        self._group.start_soon(self._run, job, spec)
        with anyio.move_on_after(FIRST_OUTPUT_WAIT_S):
            await job.changed.wait()
            with anyio.move_on_after(FAILURE_WAIT_S):
                await job.ended.wait()
        report = job.report(self._parts.clock.monotonic())
        # On macOS, the sandbox leaves localhost reachable.
        own_network = workspace_sandbox(self._parts.env) == "bubblewrap" and not spec.allow_network
        is_server = _SERVER.search(f"{command}\n{report.output.decode('utf-8', 'replace')}") is not None
        return (
            replace(report, note=NO_NETWORK)
            if own_network and is_server and report.state == "running"
            else report
        )

    async def read(self, job_id: str, wait: float) -> JobReport:
        """Wait up to `wait` seconds for new output, and return it; see `ports.job.Jobs`."""
        job = self._get_job(job_id)
        return await self._report_after(
            job, 0.0 if job.has_new_output or job.state else min(wait, MAX_WAIT_S)
        )

    async def stop(self, job_id: str, stopper: Literal["user", "agent"]) -> JobReport:
        """Stop a job and return its last report; see `ports.job.Jobs`."""
        job = self._get_job(job_id)
        await self._cancel_jobs([job], "stopped", stopper)
        return job.report(self._parts.clock.monotonic())

    async def stop_for_user(self, job_id: str | None) -> None:
        """Stop a job at the user's request, or all jobs if `job_id` is None."""
        if job_id is None:
            await self.end_all("stopped", "user")
        else:
            await self.stop(job_id, "user")

    async def end_all(self, ended: JobEnd, stopper: JobStopper = "") -> None:
        """End all running background jobs."""
        await self._cancel_jobs(self._jobs.values(), ended, stopper)

    async def stop_undone(self, job_ids: Collection[JobId]) -> None:
        """Stop the jobs of calls that are about to be undone."""
        await self._cancel_jobs([self._jobs[job_id] for job_id in job_ids], "stopped", "rewind")

    def follow_branch(self) -> None:
        """Record the ends of jobs that count as running on the current branch but have already ended.

        Call this after the session moved to another event.
        """
        recorder = self._parts.recorder
        for start in recorder.state.jobs:
            job = self._jobs.get(start.job_id)
            if job is None:  # an earlier run of tui-agent started it
                recorder.append(JobFinished(job_id=start.job_id, end="lost"))
            elif job.state is not None:
                self._record_end(job)

    async def _cancel_jobs(self, jobs: Iterable[_Job], ended: JobEnd, stopper: JobStopper) -> None:
        running = [job for job in jobs if job.state is None]
        for job in running:
            job.planned_end, job.stopped_by = ended, stopper
            job.scope.cancel()
        with anyio.move_on_after(STOP_TIMEOUT_S):
            for job in running:
                await job.ended.wait()

    async def _report_after(self, job: _Job, seconds: float) -> JobReport:
        with anyio.move_on_after(seconds):
            await job.changed.wait()
        return job.report(self._parts.clock.monotonic())

    def _get_job(self, job_id: str) -> _Job:
        job = self._jobs.get(JobId(job_id))
        if job is None:
            running = self._running_ids()
            hint = f"Running: {', '.join(running)}." if running else "No jobs are running."
            raise ToolError(f"There is no job {job_id}. Jobs end when tui-agent exits.", hint=hint)
        return job

    def _running_ids(self) -> list[JobId]:
        return [job.job_id for job in self._jobs.values() if job.state is None]

    def _drop_oldest_ended(self) -> None:
        ended = [job.job_id for job in self._jobs.values() if job.state is not None]
        for job_id in ended[: max(len(ended) - MAX_ENDED_JOBS, 0)]:
            del self._jobs[job_id]

    async def _run(self, job: _Job, spec: ExecSpec) -> None:
        result: ExecResult | None = None
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        try:
            await self._parts.recorder.commit()
            emit = partial(self._emit, job)
            with open_sampler(self._ticker, self._parts.clock, emit) as sampler, job.scope:

                def handle_output(data: bytes) -> None:
                    job.add_output(data)
                    sampler.add(decode(data))

                result = await self._parts.env.exec(
                    replace(spec, max_output=TAIL_BYTES, tail_bytes=TAIL_BYTES), handle_output
                )
        except EnvironmentFault as fault:
            job.planned_end, job.message = "failed", str(fault)
        except StoreError as error:
            self._on_trouble(error)
        finally:
            self._finish(job, result)
        await self._after_end()

    def _emit(self, job: _Job, text: str, _skipped_lines: int) -> None:
        self._parts.recorder.append(JobProgress(job_id=job.job_id, text=text, size=job.size), agent=job.agent)

    def _finish(self, job: _Job, result: ExecResult | None) -> None:
        job.state = job.planned_end
        if result is not None:
            denial = f"The sandbox: {result.blocked} {SANDBOX_HINT}" if result.blocked else result.message
            remarks = (f"The sandbox: {remark}" for remark in result.remarks)
            job.exit_code = result.exit_code
            job.message = " ".join(filter(None, (denial, *remarks)))
            job.state = "failed" if result.outcome in ("not_found", "failed") else "exited"
        job.duration = self._parts.clock.monotonic() - job.started_at
        self._record_end(job)
        job.changed.set()
        job.ended.set()

    def _record_end(self, job: _Job) -> None:
        assert job.state is not None
        output = job.newest_output
        try:
            self._parts.recorder.append(
                JobFinished(
                    job_id=job.job_id,
                    end=job.state,
                    exit_code=job.exit_code,
                    output=TruncatingBlobs(self._parts.blobs).put_text(output.decode("utf-8", "replace")),
                    size=job.size,
                    dropped_bytes=job.size - len(output),
                    duration_ms=round(job.duration * 1_000, 1),
                    stopped_by=job.stopped_by if job.state == "stopped" else "",
                    message=job.message,
                ),
                agent=job.agent,
            )
        except StoreError as error:
            self._on_trouble(error)


class CallJobs:
    """The `ports.job.Jobs` service for one call of a tool."""

    def __init__(self, jobs: JobManager, call_id: CallId, agent: AgentId, granted: SandboxGrant) -> None:
        self._jobs = jobs
        self._granted = granted
        self._call_id = call_id
        self._agent = agent

    async def start(self, command: str, spec: ExecSpec) -> JobReport:
        return await self._jobs.start(command, self._granted.apply_to(spec), self._call_id, self._agent)

    async def read(self, job_id: str, wait: float) -> JobReport:
        return await self._jobs.read(job_id, wait)

    async def stop(self, job_id: str) -> JobReport:
        return await self._jobs.stop(job_id, "agent")
