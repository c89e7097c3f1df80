"""Events of background jobs: commands that run on after the tool call that started them has ended."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, JobId
from tui_agent.protocol.stored_text import LongText

JobEnd: TypeAlias = Literal["exited", "stopped", "session", "forked", "failed", "lost"]
"""The end of a job.

- `exited`: the command ended by itself.
- `stopped`: somebody stopped the job, see `JobStopper`.
- `session`: the session ended.
- `forked`: the session is a fork; the job can run only in the parent session.
- `failed`: the command could not be started.
- `lost`: the program that ran the job crashed.
"""

JobStopper: TypeAlias = Literal["", "user", "agent", "rewind"]
"""Who stopped a job. `rewind`: the session was moved to an event before the job's start, for example by an undo."""

STOP_REASONS: Final[Mapping[JobStopper, str]] = {
    "": "",
    "user": ", by the user",
    "agent": "",
    "rewind": ", by an undo",
}
"""Maps a `JobStopper` to the words that follow `was stopped after 5 s` in the text for the model."""


class JobStarted(Payload):
    """A job is about to start. The event is stored before the command runs. `cwd`: relative to the workspace."""

    kind: Literal["job.started"] = "job.started"
    job_id: JobId
    command: str
    cwd: str = ""
    call_id: CallId


class JobProgress(Payload):
    """New output of a background job, to append to the earlier output.

    Very long output is recorded only in part. `size`: number of printed bytes so far.
    """

    kind: Literal["job.progress"] = "job.progress"
    job_id: JobId
    text: str
    size: int


class JobFinished(Payload):
    """A background job ended. `output`: newest part of its output.

    `dropped_bytes`: number of earlier bytes that are missing from `output`. `stopped_by`: set if `end` is `stopped`.
    `message`: reason why the job could not start, or a note of the sandbox.
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
