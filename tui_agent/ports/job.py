"""Background jobs, as a tool starts, reads and ends them."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from tui_agent.ports.environment import ExecSpec
from tui_agent.protocol.events.job import JobEnd
from tui_agent.protocol.ids import JobId

JobState: TypeAlias = Literal["running"] | JobEnd


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job as it is now. `output` is what it printed since it was last asked for, `missed` how many bytes of that were
    not kept; `message` why it could not be started."""

    job_id: JobId
    command: str
    state: JobState
    seconds: float
    exit_code: int | None = None
    output: bytes = b""
    missed: int = 0
    message: str = ""


class Jobs(Protocol):
    """The jobs of a session. Raises `ToolError` where there is no such job, or one too many."""

    async def start(self, command: str, spec: ExecSpec) -> JobReport:
        """Start a command that goes on after the call; `spec.timeout` is its limit (None: none). Returns once it has
        printed something or ended, or after a moment."""
        ...

    async def read(self, job_id: str, wait: float) -> JobReport:
        """What is new; where nothing is, it is waited for up to `wait` seconds."""
        ...

    async def stop(self, job_id: str) -> JobReport:
        """End it with all that it started; returns when that is done."""
        ...
