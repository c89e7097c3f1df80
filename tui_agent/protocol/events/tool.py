"""Events of tool calls: the model's request, the start, the output and the result."""

from typing import Literal, TypeAlias

from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import Content
from tui_agent.protocol.stored_text import JsonMap, LongText

ToolStatus: TypeAlias = Literal["ok", "failed", "invalid", "denied", "interrupted", "lost"]


class ToolCalled(Payload):
    """A tool call of the model's newest answer was accepted.

    `verb`, `target`: text of its row on the screen: `edit`, `src/app.py`.
    """

    kind: Literal["tool.called"] = "tool.called"
    call_id: CallId
    name: str
    arguments: JsonMap
    iteration: int
    verb: str
    target: str


class ToolStarted(Payload):
    """A tool call is about to run. The event is stored before the call's side effects.

    `delegates`: True if another agent does the work.
    """

    kind: Literal["tool.started"] = "tool.started"
    call_id: CallId
    writes: bool
    delegates: bool = False


class ToolProgress(Payload):
    """New output of a running tool call, to append to the earlier output.

    Output is collected for 50 ms, or until 2 KB have arrived, before it is recorded. Of a very long output, only samples
    are recorded. `skipped_lines`: lines of the output that are left out before or in `text`.
    """

    kind: Literal["tool.progress"] = "tool.progress"
    call_id: CallId
    text: str
    stream: Literal["output", "note"] = "output"
    skipped_lines: int = 0


class ToolFinished(Payload):
    """A tool call ended, with the result for the model.

    `part`: number of the call among the session's message parts (null: the call never ran). `summary`: outcome in a few
    words for the row on the screen (`61 lines`, `exit 1`, `denied: rule …`). `full_output`: the full output if
    `content` is only a preview. `artifact`: the artifact with the full output, for `read_file` and `grep`. `data`: JSON
    of the tool's own format. `duration_ms`: run time, without waiting for the user's decision. `environment`: True if
    the environment failed (a full disk, a program that cannot start), not the tool. `lost`: True if the machine is gone
    or its provider does not answer.
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
    lost: bool = False
    artifact: Artifact | None = None
