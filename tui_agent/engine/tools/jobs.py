"""Background jobs: commands that the agent started and that go on after their call.

Invariants: `job.started` is stored before the command begins and is always followed by `job.finished`; none outlives the
session. What is held of a job's output, and what is recorded of it, is bounded however much it prints.
"""

import codecs
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from tui_agent.engine.components import EngineParts
from tui_agent.engine.model.delta_merge import Ticker
from tui_agent.engine.tools.blobs import KeptOrCut
from tui_agent.engine.tools.sandbox_retry import Granted
from tui_agent.errors import EnvironmentFault, StoreError, ToolError, TuiAgentError
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.ports.job import JobReport
from tui_agent.protocol.events.job import JobEnd, JobFinished, JobProgress, JobStarted
from tui_agent.protocol.ids import AgentId, CallId, JobId

MOST_JOBS = 8
"""Jobs that run at a time."""
MOST_ENDED = 24
"""Jobs that have ended and can still be read."""
KEPT_BYTES = 1_000_000
"""Of a job's output that are held, the newest."""
FIRST_WORDS_S = 1.0
"""How long a start waits for the first output, or for an end at once."""
LAST_WORDS = 24_000
"""Bytes of its last output from which the environment tells what was refused to it."""
MOST_WAIT_S = 60.0
END_S = 6.0
STAYS_INSIDE = (
    "A job is not offered to run outside the sandbox, for nobody waits for it: where the command needs that, run it "
    "without `background`, and the user is asked."
)
WHOLE = 64_000
"""Characters of live output that are recorded whole; then samples."""
SAMPLES = ((1_000_000, 2_000, 1.0), (1 << 62, 500, 10.0))
"""Up to so many characters recorded: the size of a sample, and the seconds between two."""


class _Job:
    """One job while it runs, and as long as it can be read."""

    def __init__(self, job_id: JobId, command: str, now: float) -> None:
        self.job_id = job_id
        self.command = command
        self.began = now
        self.duration = 0.0
        self.scope = anyio.CancelScope()
        self.news = anyio.Event()
        self.ended = anyio.Event()
        self.state: JobEnd | None = None
        self.exit_code: int | None = None
        self.message = ""
        self.wish: JobEnd = "session"
        """How it ends where it is cancelled."""
        self.stopped_by: Literal["", "user", "agent"] = ""
        self.size = 0
        self._kept = bytearray()
        self._read_to = 0
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._recorded = 0
        self._sampled_at = now

    def take(self, data: bytes, now: float) -> str:
        """Keep the next bytes; returns what of them is to be recorded."""
        self.size += len(data)
        self._kept += data
        if len(self._kept) > KEPT_BYTES + KEPT_BYTES // 4:
            del self._kept[: len(self._kept) - KEPT_BYTES]
        self.news.set()
        text = self._decode.decode(data)
        if self._recorded + len(text) > WHOLE:
            piece, every = next((size, every) for most, size, every in SAMPLES if self._recorded < most)
            if self._recorded < WHOLE:
                self._recorded = WHOLE
            elif now - self._sampled_at < every:
                return ""
            self._sampled_at, text = now, text[-piece:]
        self._recorded += len(text)
        return text

    @property
    def kept(self) -> bytes:
        """The newest of what it printed."""
        return bytes(self._kept[-KEPT_BYTES:])

    def report(self, now: float) -> JobReport:
        """As it is now, with what is new since the last report."""
        kept = self.kept
        oldest = self.size - len(kept)
        start = max(self._read_to, oldest)
        missed, self._read_to = start - self._read_to, self.size
        self.news = anyio.Event()
        return JobReport(
            self.job_id,
            self.command,
            self.state or "running",
            self.duration if self.state else now - self.began,
            self.exit_code,
            kept[start - oldest :],
            missed,
            self.message,
        )

    @property
    def unread(self) -> bool:
        """Whether it printed something since the last report."""
        return self.size > self._read_to


class Jobs:
    """The jobs of one run of a session."""

    def __init__(
        self, parts: EngineParts, ticker: Ticker, on_trouble: Callable[[TuiAgentError], None]
    ) -> None:
        self._parts = parts
        self._ticker = ticker
        self._on_trouble = on_trouble
        self._jobs: dict[JobId, _Job] = {}
        self._group: TaskGroup | None = None

    def begin(self, group: TaskGroup) -> None:
        """Jobs run in this group from now on."""
        self._group = group

    def of_call(self, call_id: CallId, agent: AgentId, granted: Granted) -> "CallJobs":
        """The jobs as one call uses them; what it starts may do what was allowed to it."""
        return CallJobs(self, call_id, agent, granted)

    async def start(self, command: str, spec: ExecSpec, call_id: CallId, agent: AgentId) -> JobReport:
        """See `ports.job.Jobs`."""
        running = [job for job in self._jobs.values() if job.state is None]
        if len(running) >= MOST_JOBS:
            raise ToolError(
                f"{MOST_JOBS} background jobs run already, the limit: {_names(running)}.",
                hint="End one with stop_job first.",
            )
        assert self._group is not None
        recorder, now = self._parts.recorder, self._parts.clock.monotonic()
        job = _Job(JobId(f"job-{recorder.state.jobs_begun + 1}"), command, now)
        recorder.append(
            JobStarted(job_id=job.job_id, command=command, cwd=spec.cwd, call_id=call_id), agent=agent
        )
        self._jobs[job.job_id] = job
        self._forget()
        self._group.start_soon(self._run, job, spec, agent)
        return await self._after(job, FIRST_WORDS_S)

    async def read(self, job_id: str, wait: float) -> JobReport:
        """See `ports.job.Jobs`."""
        job = self._known(job_id)
        return await self._after(job, 0.0 if job.unread or job.state else min(wait, MOST_WAIT_S))

    async def stop(self, job_id: str, by: Literal["user", "agent"]) -> JobReport:
        """See `ports.job.Jobs`."""
        job = self._known(job_id)
        await self._end([job], "stopped", by)
        return job.report(self._parts.clock.monotonic())

    async def end_all(self, ended: JobEnd, by: Literal["", "user"] = "", but: Collection[str] = ()) -> None:
        """End all that run but for these."""
        await self._end([job for job in self._jobs.values() if job.job_id not in but], ended, by)

    async def _end(self, jobs: Iterable[_Job], ended: JobEnd, by: Literal["", "user", "agent"]) -> None:
        running = [job for job in jobs if job.state is None]
        for job in running:
            job.wish, job.stopped_by = ended, by
            job.scope.cancel()
        with anyio.move_on_after(END_S):
            for job in running:
                await job.ended.wait()

    async def _after(self, job: _Job, seconds: float) -> JobReport:
        """A report, once there is news or the time is over."""
        with anyio.move_on_after(seconds):
            await job.news.wait()
        return job.report(self._parts.clock.monotonic())

    def _known(self, job_id: str) -> _Job:
        job = self._jobs.get(JobId(job_id))
        if job is None:
            running = [one for one in self._jobs.values() if one.state is None]
            hint = f"Running: {_names(running)}." if running else "No job runs."
            raise ToolError(f"There is no job {job_id}; jobs end with the program.", hint=hint)
        return job

    def _forget(self) -> None:
        ended = [job.job_id for job in self._jobs.values() if job.state is not None]
        for job_id in ended[: max(len(ended) - MOST_ENDED, 0)]:
            del self._jobs[job_id]

    async def _run(self, job: _Job, spec: ExecSpec, agent: AgentId) -> None:
        clock = self._parts.clock
        result: ExecResult | None = None
        try:
            await self._parts.recorder.commit()
            with self._ticker.merging(clock, partial(self._emit, job, agent), str) as merger, job.scope:

                def take(data: bytes) -> None:
                    text = job.take(data, clock.monotonic())
                    if text:
                        merger.add("output", text)

                result = await self._parts.env.exec(
                    replace(spec, max_output=LAST_WORDS, newest=LAST_WORDS), take
                )
        except EnvironmentFault as fault:
            job.wish, job.message = "failed", str(fault)
        except StoreError as error:
            self._on_trouble(error)
        finally:
            self._finish(job, agent, result)

    def _emit(self, job: _Job, agent: AgentId, _key: str, text: str) -> None:
        self._parts.recorder.append(JobProgress(job_id=job.job_id, text=text, size=job.size), agent=agent)

    def _finish(self, job: _Job, agent: AgentId, result: ExecResult | None) -> None:
        """Record its end."""
        job.state = job.wish
        if result is not None:
            blocked = (
                [f"The sandbox: {result.blocked} {STAYS_INSIDE}"] if result.blocked else [result.message]
            )
            job.exit_code = result.exit_code
            job.message = " ".join(
                [*filter(None, blocked), *(f"The sandbox: {one}" for one in result.remarks)]
            )
            job.state = "failed" if result.ended in ("not_found", "failed") else "exited"
        job.duration = self._parts.clock.monotonic() - job.began
        kept = job.kept
        try:
            self._parts.recorder.append(
                JobFinished(
                    job_id=job.job_id,
                    ended=job.state,
                    exit_code=job.exit_code,
                    output=KeptOrCut(self._parts.blobs).keep(kept.decode("utf-8", "replace")),
                    size=job.size,
                    dropped=job.size - len(kept),
                    duration_ms=round(job.duration * 1_000, 1),
                    stopped_by=job.stopped_by if job.state == "stopped" else "",
                    message=job.message,
                ),
                agent=agent,
            )
        except StoreError as error:
            self._on_trouble(error)
        job.news.set()
        job.ended.set()


class CallJobs:
    """`ports.job.Jobs` for one call."""

    def __init__(self, jobs: Jobs, call_id: CallId, agent: AgentId, granted: Granted) -> None:
        self._jobs = jobs
        self._granted = granted
        self._call_id = call_id
        self._agent = agent

    async def start(self, command: str, spec: ExecSpec) -> JobReport:
        """Start one."""
        return await self._jobs.start(command, self._granted.of(spec), self._call_id, self._agent)

    async def read(self, job_id: str, wait: float) -> JobReport:
        """What is new."""
        return await self._jobs.read(job_id, wait)

    async def stop(self, job_id: str) -> JobReport:
        """End it."""
        return await self._jobs.stop(job_id, "agent")


def _names(jobs: Iterable[_Job]) -> str:
    return ", ".join(job.job_id for job in jobs)
