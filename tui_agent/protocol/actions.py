"""Actions of an agent, as a closed union over the calls, messages and endings that the log records.

Invariant: `action_from_dict(action.to_dict()) == action`. `to_dict` is for people and programs (with a
readable `message`), `to_memory` for a model (with the raw exception if the action failed).
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, JsonValue, TypeAdapter

from tui_agent.protocol.base import BlobText, FrozenModel, JsonMap, LongText, text_preview

TaskState: TypeAlias = Literal["open", "in_progress", "completed", "abandoned", "verified"]
"""A task's state; `open` corresponds to `pending` in the todo list."""


class Described(FrozenModel):
    """Base of actions and observations: the class's `template` is filled in with the fields of `{0}`."""

    template: ClassVar[str]

    @property
    def message(self) -> str:
        """A short line for people."""
        return self.template.format(self)


class ActionBase(Described):
    """Base of every action. `exception` is the raw exception if the action failed."""

    action: str
    exception: str = ""

    def to_dict(self) -> JsonMap:
        """Return everything as plain JSON: `action`, `message`, `args`."""
        args = self.model_dump(mode="json", exclude={"action"}, exclude_defaults=True)
        return {"action": self.action, "message": self.message, "args": args}

    def to_memory(self) -> JsonMap:
        """Return the JSON for a model: `action`, `args` and, if it failed, `exception`. Long texts are
        previews."""
        plain = self.model_dump(mode="json", exclude={"action", "exception"}, exclude_defaults=True)
        args: JsonMap = {name: _preview_json(getattr(self, name), value) for name, value in plain.items()}
        failed: JsonMap = {"exception": self.exception} if self.exception else {}
        return {"action": self.action, "args": args, **failed}


def _preview_json(value: object, dumped: JsonValue) -> JsonValue:
    return value.preview if isinstance(value, BlobText) else dumped


class CmdRun(ActionBase):
    """Run a command line. With `shell` None its form decides whether a shell is used."""

    action: Literal["run"] = "run"
    command: str
    shell: bool | None = None
    template: ClassVar[str] = "Running: {0.command}"


class IPythonRunCell(ActionBase):
    """Run a notebook cell."""

    action: Literal["run_cell"] = "run_cell"
    code: str
    template: ClassVar[str] = "Running a notebook cell"


class FileRead(ActionBase):
    """Read a file from line `first_line` on; `lines` 0 means as many as fit."""

    action: Literal["read"] = "read"
    path: str
    first_line: int = 1
    lines: int = 0
    template: ClassVar[str] = "Reading {0.path}"


class FileWrite(ActionBase):
    """Write a complete file; replace an existing one only with `overwrite`."""

    action: Literal["write"] = "write"
    path: str
    content: LongText
    overwrite: bool = False
    template: ClassVar[str] = "Writing {0.path}"


class BrowseURL(ActionBase):
    """Read a web page."""

    action: Literal["browse"] = "browse"
    url: str
    template: ClassVar[str] = "Browsing {0.url}"


class AddTask(ActionBase):
    """Add a task and its subtasks to the task tree; an empty `parent` adds it at the top."""

    action: Literal["add_task"] = "add_task"
    goal: str
    parent: str = ""
    subtasks: tuple[str, ...] = ()
    id: str = ""
    template: ClassVar[str] = "Added the task: {0.goal}"


class ModifyTask(ActionBase):
    """Change a task's state."""

    action: Literal["modify_task"] = "modify_task"
    id: str
    state: TaskState

    @property
    def message(self) -> str:
        return f"Task {self.id} is now {self.state.replace('_', ' ')}"


class AgentFinish(ActionBase):
    """Report that the task is done."""

    action: Literal["finish"] = "finish"
    text: LongText = ""
    template: ClassVar[str] = "The task is done."


class AgentReject(ActionBase):
    """Report that the task cannot or should not be done."""

    action: Literal["reject"] = "reject"
    reason: str = ""

    @property
    def message(self) -> str:
        return f"The task was rejected: {self.reason}" if self.reason else "The task was rejected."


class Message(ActionBase):
    """A message from the agent or the user."""

    action: Literal["message"] = "message"
    text: LongText
    source: Literal["agent", "user"] = "agent"

    @property
    def message(self) -> str:
        """The text, or its preview if it is stored as a blob."""
        return text_preview(self.text)


class ToolRun(ActionBase):
    """Call any other tool."""

    action: Literal["tool"] = "tool"
    name: str
    arguments: JsonMap = {}
    template: ClassVar[str] = "Calling {0.name}"


AnyAction: TypeAlias = Annotated[
    CmdRun
    | IPythonRunCell
    | FileRead
    | FileWrite
    | BrowseURL
    | AddTask
    | ModifyTask
    | AgentFinish
    | AgentReject
    | Message
    | ToolRun,
    Field(discriminator="action"),
]

ACTION_TOOLS: Mapping[str, str] = {
    "run": "run_command",
    "run_cell": "run_cell",
    "read": "read_file",
    "write": "write_file",
    "browse": "browse_url",
    "add_task": "write_todos",
    "modify_task": "write_todos",
}
"""The tool that carries out each action."""


@cache
def _adapter() -> TypeAdapter[AnyAction]:
    return TypeAdapter(AnyAction)


def action_from_dict(data: JsonMap) -> AnyAction:
    """Return the action that `to_dict` serialised. Raises `pydantic.ValidationError` if `data` is not
    one."""
    args = data.get("args")
    return _adapter().validate_python(
        {"action": data.get("action"), **(args if isinstance(args, dict) else {})}
    )
