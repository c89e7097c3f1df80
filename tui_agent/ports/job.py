"""Background jobs: commands that tools start, read and stop."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from tui_agent.ports.environment import ExecSpec
from tui_agent.protocol.events.job import JobEnd
from tui_agent.protocol.ids import JobId

JobState: TypeAlias = Literal["running"] | JobEnd


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job's present state. `output` is what it printed since the last report.

    `dropped_bytes` counts the bytes of it that were dropped; `message` says why the job could not start.
    """

    job_id: JobId
    command: str
    state: JobState
    seconds: float
    exit_code: int | None = None
    output: bytes = b""
    dropped_bytes: int = 0
    message: str = ""


class Jobs(Protocol):
    """The jobs of a session. Methods raise `ToolError` if there is no such job, or too many jobs."""

    async def start(self, command: str, spec: ExecSpec) -> JobReport:
        """Start a command that keeps running after the call; `spec.timeout` is its limit in seconds (None: no limit).

        Returns once it has printed something or ended, or after a moment.
        """
        ...

    async def read(self, job_id: str, wait: float) -> JobReport:
        """Return new output; wait up to `wait` seconds if there is none yet."""
        ...

    async def stop(self, job_id: str) -> JobReport:
        """End the job with all its processes; return when that is done."""
        ...
