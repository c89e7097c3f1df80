"""What an agent does, as named actions: a closed union over the same calls, words and ends that the log records.

Invariant: `action_from_dict(action.to_dict()) == action`. `to_dict` is for people and programs (with a friendly
`message`), `to_memory` for a model (with the raw exception, where the action failed).
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue, TypeAdapter

from tui_agent.protocol.base import BlobText, Frozen, JsonMap, LongText, text_preview

TaskState: TypeAlias = Literal["open", "in_progress", "completed", "abandoned", "verified"]
"""A task's state; `open` is the todo list's `pending`."""


class ActionBase(Frozen):
    """Base of every action. `exception` is the raw exception of an action that failed."""

    action: str
    exception: str = ""

    @property
    def message(self) -> str:
        """One friendly line."""
        return self.action

    def to_dict(self) -> JsonMap:
        """`action`, `message`, `args`: everything, as plain JSON."""
        args = self.model_dump(mode="json", exclude={"action"}, exclude_defaults=True)
        return {"action": self.action, "message": self.message, "args": args}

    def to_memory(self) -> JsonMap:
        """`action`, `args` and, where it failed, `exception`: what a model is told of it. Long texts are previews."""
        plain = self.model_dump(mode="json", exclude={"action", "exception"}, exclude_defaults=True)
        args: JsonMap = {name: _short(getattr(self, name), value) for name, value in plain.items()}
        failed: JsonMap = {"exception": self.exception} if self.exception else {}
        return {"action": self.action, "args": args, **failed}


def _short(value: object, plain: JsonValue) -> JsonValue:
    return value.preview if isinstance(value, BlobText) else plain


class CmdRun(ActionBase):
    """Run a command line; `shell` None lets its form decide."""

    action: Literal["run"] = "run"
    command: str
    shell: bool | None = None

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"Running: {self.command}"


class IPythonRunCell(ActionBase):
    """Run a notebook cell."""

    action: Literal["run_cell"] = "run_cell"
    code: str

    @property
    def message(self) -> str:
        """One friendly line."""
        return "Running a notebook cell"


class FileRead(ActionBase):
    """Read a file, from line `first_line` on; `lines` 0 means as many as fit."""

    action: Literal["read"] = "read"
    path: str
    first_line: int = 1
    lines: int = 0

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"Reading {self.path}"


class FileWrite(ActionBase):
    """Write a whole file; an existing one only with `overwrite`."""

    action: Literal["write"] = "write"
    path: str
    content: LongText
    overwrite: bool = False

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"Writing {self.path}"


class BrowseURL(ActionBase):
    """Read a web page."""

    action: Literal["browse"] = "browse"
    url: str

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"Browsing {self.url}"


class AddTask(ActionBase):
    """Put a task, and tasks below it, into the task tree; `parent` empty puts it at the top."""

    action: Literal["add_task"] = "add_task"
    goal: str
    parent: str = ""
    subtasks: tuple[str, ...] = ()
    id: str = ""

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"Added the task: {self.goal}"


class ModifyTask(ActionBase):
    """Give a task another state."""

    action: Literal["modify_task"] = "modify_task"
    id: str
    state: TaskState

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"Task {self.id} is {self.state.replace('_', ' ')} now"


class AgentFinish(ActionBase):
    """The task is done."""

    action: Literal["finish"] = "finish"
    text: LongText = ""

    @property
    def message(self) -> str:
        """One friendly line."""
        return "The task is done."


class AgentReject(ActionBase):
    """The task cannot or should not be done."""

    action: Literal["reject"] = "reject"
    reason: str = ""

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"The task was rejected: {self.reason}" if self.reason else "The task was rejected."


class Message(ActionBase):
    """Words of the agent or of the user."""

    action: Literal["message"] = "message"
    text: LongText
    source: Literal["agent", "user"] = "agent"

    @property
    def message(self) -> str:
        """The words, as far as they are at hand."""
        return text_preview(self.text)


class ToolRun(ActionBase):
    """Call any other tool."""

    action: Literal["tool"] = "tool"
    name: str
    arguments: JsonMap = {}

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"Calling {self.name}"


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
"""The tool behind an action."""


@cache
def _adapter() -> TypeAdapter[AnyAction]:
    return TypeAdapter(AnyAction)


def action_from_dict(plain: JsonMap) -> AnyAction:
    """The action that `to_dict` gave. Raises `pydantic.ValidationError` where it is none."""
    args = plain.get("args")
    return _adapter().validate_python(
        {"action": plain.get("action"), **(args if isinstance(args, dict) else {})}
    )
