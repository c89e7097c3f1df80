"""Events of background jobs: commands that outlive the call that started them. They end with the session."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import CallId, JobId, LongText, Payload

JobEnd: TypeAlias = Literal["exited", "stopped", "session", "failed", "lost"]
"""The end of a job.

- `exited`: the command ended by itself.
- `stopped`: the user or the agent stopped the job.
- `session`: the session ended.
- `failed`: the command could not be started.
- `lost`: the program that ran the job crashed.
"""

JobStopper: TypeAlias = Literal["", "user", "agent", "rewind"]
"""Who stopped a job. `rewind` means an undo, or another move to an event before the job's start."""


class JobStarted(Payload):
    """A job is about to start. This event is stored before the command runs. `cwd` is relative to the workspace."""

    kind: Literal["job.started"] = "job.started"
    job_id: JobId
    command: str
    cwd: str = ""
    call_id: CallId


class JobProgress(Payload):
    """New output of a background job, to append to the earlier output.

    If the output is very long, only samples are recorded. `size` is the number of bytes that the job has printed so
    far, including bytes that were not recorded.
    """

    kind: Literal["job.progress"] = "job.progress"
    job_id: JobId
    text: str
    size: int


class JobFinished(Payload):
    """A background job ended. `output` is the newest part of its output.

    `dropped_bytes` counts the earlier bytes that are missing from `output`. `stopped_by` is set if `end` is `stopped`.
    `message` is the reason why the job could not start, or a note of the sandbox.
    """

    kind: Literal["job.finished"] = "job.finished"
    job_id: JobId
    end: JobEnd
    exit_code: int | None = None
    output: LongText = ""
    size: int = 0
    dropped_bytes: int = 0
    duration_ms: float = 0.0
    stopped_by: JobStopper = ""
    message: str = ""
