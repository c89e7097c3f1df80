"""Background jobs: commands that tools start, read and stop."""

from typing import Literal, Protocol, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import ExecSpec
from tui_agent.protocol.events.job import JobEnd
from tui_agent.protocol.ids import JobId

JobState: TypeAlias = Literal["running"] | JobEnd


@dataclass(frozen=True, slots=True)
class JobReport:
    """The current state of a background job.

    - `output`: output since the last report.
    - `dropped_bytes`: number of bytes that are missing from `output`.
    - `message`: reason why the job could not start.
    - `note`: a sentence about the limits of a job that just started; empty in later reports.
    - `stop_reason`: words that say who stopped the job, such as `, by the user`. Empty if the agent stopped the
      job.
    """

    job_id: JobId
    command: str
    state: JobState
    seconds: float
    exit_code: int | None = None
    output: bytes = b""
    dropped_bytes: int = 0
    message: str = ""
    stop_reason: str = ""
    note: str = ""


class Jobs(Protocol):
    """The background jobs of a session.

    Methods raise `ToolError` if there is no job with the given id, or if too many jobs are running.
    """

    async def start(self, command: str, spec: ExecSpec) -> JobReport:
        """Start a command that can run longer than the tool call.

        `spec.timeout` is the command's time limit in seconds (None: no limit). Returns after a short wait, or earlier
        if the command prints something or ends.
        """
        ...

    async def read(self, job_id: str, wait: float) -> JobReport:
        """Return new output of a job. If there is no new output, wait for it up to `wait` seconds."""
        ...

    async def stop(self, job_id: str) -> JobReport:
        """End the job with all its processes."""
        ...
