"""Background jobs: commands that go on after the call that started them, until they end, are ended, or the session is."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import LongText
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import CallId, JobId

JobEnd: TypeAlias = Literal["exited", "stopped", "session", "failed", "lost"]
"""By itself; ended by the user or the agent; with the session; could not be started; with a crash, unseen."""


class JobStarted(Payload):
    """Written ahead: the command is started after this event is stored. `cwd` is relative to the workspace."""

    kind: Literal["job.started"] = "job.started"
    job_id: JobId
    command: str
    cwd: str = ""
    call_id: CallId


class JobProgress(Payload):
    """Live output, merged, appended to what came before; from some size on samples of the newest.

    `size` is how many bytes the job has printed so far, shown or not.
    """

    kind: Literal["job.progress"] = "job.progress"
    job_id: JobId
    text: str
    size: int


class JobFinished(Payload):
    """The job's end. `output` is the newest of what it printed, `dropped` how many bytes before that were not kept.

    `stopped_by` says whose wish it was where `ended` is `stopped`; `message` why it could not be started, or what the sandbox
    says of it.
    """

    kind: Literal["job.finished"] = "job.finished"
    job_id: JobId
    ended: JobEnd
    exit_code: int | None = None
    output: LongText = ""
    size: int = 0
    dropped: int = 0
    duration_ms: float = 0.0
    stopped_by: Literal["", "user", "agent"] = ""
    message: str = ""
