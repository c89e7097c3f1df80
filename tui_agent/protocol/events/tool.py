"""Tool calls, from the model's wish to the result it is told."""

from typing import Literal, TypeAlias

from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import JsonMap, LongText
from tui_agent.protocol.display import DisplayBlock
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import Content

ToolStatus: TypeAlias = Literal["ok", "failed", "invalid", "denied", "interrupted", "lost"]


class ToolCalled(Payload):
    """A call of the newest answer is taken up. `verb` and `target` are its row's words: `edit`, `src/app.py`."""

    kind: Literal["tool.called"] = "tool.called"
    call_id: CallId
    name: str
    arguments: JsonMap
    iteration: int
    verb: str
    target: str
    user_asked: bool = False


class ToolStarted(Payload):
    """Written ahead: the side effect comes after this event is stored. `delegates`: it hands its work to a delegate, which
    begins with `agent.spawned`, once there is room for it."""

    kind: Literal["tool.started"] = "tool.started"
    call_id: CallId
    writes: bool
    delegates: bool = False


class ToolProgress(Payload):
    """Live output, merged (at most 20 a second, or 2 KB). `text` is appended to what came before."""

    kind: Literal["tool.progress"] = "tool.progress"
    call_id: CallId
    text: str
    stream: Literal["output", "note"] = "output"


class ToolFinished(Payload):
    """The call's end, with the part that the model is told (index `part`).

    `part` is None where the engine only closes a call that was never run (stopped, lost): no progress was made.

    `summary` is the row's outcome in few words (`61 lines`, `exit 1`, `denied: rule …`). `full_output` is the whole
    output where `content` holds a preview, `artifact` what the model can read on in. `data` is the tool's own JSON. `environment` marks a failure of files or
    processes themselves (a full disk, a program that cannot be started), where the tool did what it should.
    """

    kind: Literal["tool.finished"] = "tool.finished"
    call_id: CallId
    name: str
    status: ToolStatus
    part: int | None
    content: tuple[Content, ...]
    display: tuple[DisplayBlock, ...] = ()
    summary: str = ""
    data: JsonMap = {}
    full_output: LongText | None = None
    duration_ms: float = 0.0
    environment: bool = False
    artifact: Artifact | None = None
