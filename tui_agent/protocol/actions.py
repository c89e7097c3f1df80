"""Actions of an agent, as a closed union over the calls, messages and endings that the log records.

Invariant: `action_from_dict(action.to_dict()) == action`. `to_dict` is for people and programs (with a
readable `message`), `to_memory` for a model (with the raw exception if the action failed).
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, JsonValue, TypeAdapter

from tui_agent.protocol.base import BlobText, Frozen, JsonMap, LongText, text_preview

TaskState: TypeAlias = Literal["open", "in_progress", "completed", "abandoned", "verified"]
"""A task's state; `open` corresponds to `pending` in the todo list."""


class ActionBase(Frozen):
    """Base of every action. `exception` is the raw exception if the action failed."""

    template: ClassVar[str] = "{action}"
    """The form of `message`, with the names of fields."""

    action: str
    exception: str = ""

    @property
    def message(self) -> str:
        """A short line for people."""
        return self.template.format_map(self.__dict__)

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

    template = "Running: {command}"
    action: Literal["run"] = "run"
    command: str
    shell: bool | None = None


class IPythonRunCell(ActionBase):
    """Run a notebook cell."""

    template = "Running a notebook cell"
    action: Literal["run_cell"] = "run_cell"
    code: str


class FileRead(ActionBase):
    """Read a file from line `first_line` on; `lines` 0 means as many as fit."""

    template = "Reading {path}"
    action: Literal["read"] = "read"
    path: str
    first_line: int = 1
    lines: int = 0


class FileWrite(ActionBase):
    """Write a complete file; replace an existing one only with `overwrite`."""

    template = "Writing {path}"
    action: Literal["write"] = "write"
    path: str
    content: LongText
    overwrite: bool = False


class BrowseURL(ActionBase):
    """Read a web page."""

    template = "Browsing {url}"
    action: Literal["browse"] = "browse"
    url: str


class AddTask(ActionBase):
    """Add a task and its subtasks to the task tree; an empty `parent` adds it at the top."""

    template = "Added the task: {goal}"
    action: Literal["add_task"] = "add_task"
    goal: str
    parent: str = ""
    subtasks: tuple[str, ...] = ()
    id: str = ""


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

    template = "The task is done."
    action: Literal["finish"] = "finish"
    text: LongText = ""


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

    template = "Calling {name}"
    action: Literal["tool"] = "tool"
    name: str
    arguments: JsonMap = {}


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

TOOLS: Mapping[str, str] = {
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


def action_from_dict(plain: JsonMap) -> AnyAction:
    """Return the action that `to_dict` serialised. Raises `pydantic.ValidationError` if `plain` is not
    one."""
    args = plain.get("args")
    return _adapter().validate_python(
        {"action": plain.get("action"), **(args if isinstance(args, dict) else {})}
    )
