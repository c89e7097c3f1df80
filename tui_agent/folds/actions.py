"""Actions of an agent and their observations (results), built from the log.

Other programs call `action_from_dict`, `observation_from_dict` and `to_memory`; tui-agent itself does not.

Invariant: `action_from_dict(action.to_dict()) == action`, and `observation_from_dict(observation.to_dict()) ==
observation`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.dispatch import Handlers
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.todo import TodoItem, TodoStatus, TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import IterationFinished, TurnFinished, UserMessageReceived, UserSteered
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart
from tui_agent.protocol.stored_text import BlobText, JsonMap, LongText, text_preview

TaskState: TypeAlias = Literal["open", "in_progress", "completed", "abandoned", "verified"]
"""State of a task. `open` is called `pending` in the todo list."""


class DescribableModel(FrozenModel):
    """Base of actions and observations.

    `template`: format string of `message`. `{0}` is the object itself.
    """

    template: ClassVar[str]

    @property
    def message(self) -> str:
        """A short description for people, in one line."""
        return self.template.format(self)


class ActionBase(DescribableModel):
    """Base of every action. The fields have the names of the tool's arguments.

    - `tool`: name of the tool that runs the action.
    - `exception`: text of the exception if the action failed; empty otherwise.
    """

    tool: ClassVar[str] = ""
    action: str
    exception: str = ""

    def to_dict(self) -> JsonMap:
        """Return the action as plain JSON with the keys `action`, `message` and `args`."""
        args = self.model_dump(mode="json", exclude={"action"}, exclude_defaults=True)
        return {"action": self.action, "message": self.message, "args": args}

    def to_memory(self) -> JsonMap:
        """Return the action as JSON for a model. Long texts are shortened to previews."""
        plain = self.model_dump(mode="json", exclude={"action", "exception"}, exclude_defaults=True)
        args: JsonMap = {name: _preview_json(value) for name, value in plain.items()}
        failed: JsonMap = {"exception": self.exception} if self.exception else {}
        return {"action": self.action, "args": args, **failed}


def _preview_json(value: JsonValue) -> JsonValue:
    return value["preview"] if isinstance(value, dict) and set(value) == set(BlobText.model_fields) else value


class CmdRun(ActionBase):
    """Run a command line.

    `shell`: True to run it in a shell. None to use a shell only if the line needs one, e.g. for a pipe.
    """

    action: Literal["run"] = "run"
    command: str
    shell: bool | None = None
    tool: ClassVar[str] = "run_command"
    template: ClassVar[str] = "Running: {0.command}"


class IPythonRunCell(ActionBase):
    """Run a notebook cell."""

    action: Literal["run_cell"] = "run_cell"
    code: str
    tool: ClassVar[str] = "run_cell"
    template: ClassVar[str] = "Running a notebook cell"


class FileRead(ActionBase):
    """Read a file from line `offset` on. `limit=None` reads as many lines as fit."""

    action: Literal["read"] = "read"
    path: str
    offset: int = 1
    limit: int | None = None
    tool: ClassVar[str] = "read_file"
    template: ClassVar[str] = "Reading {0.path}"


class FileWrite(ActionBase):
    """Write a complete file. An existing file is replaced only if `overwrite` is True."""

    action: Literal["write"] = "write"
    path: str
    content: LongText
    overwrite: bool = False
    tool: ClassVar[str] = "write_file"
    template: ClassVar[str] = "Writing {0.path}"


class BrowseURL(ActionBase):
    """Read a web page."""

    action: Literal["browse"] = "browse"
    url: str
    tool: ClassVar[str] = "browse_url"
    template: ClassVar[str] = "Browsing {0.url}"


class AddTask(ActionBase):
    """Add a task with its subtasks to the task tree, below the task `parent`."""

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
    """Report that the task cannot or should not be carried out."""

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
        """The text of the message, or the beginning of the text if it is stored as a blob."""
        return text_preview(self.text)


class ToolRun(ActionBase):
    """Call a tool that has no action class."""

    action: Literal["tool"] = "tool"
    name: str
    arguments: JsonMap = {}
    template: ClassVar[str] = "Calling {0.name}"


ToolAction: TypeAlias = CmdRun | IPythonRunCell | FileRead | FileWrite | BrowseURL
AnyAction: TypeAlias = Annotated[
    ToolAction | AddTask | ModifyTask | AgentFinish | AgentReject | Message | ToolRun,
    Field(discriminator="action"),
]
_ACTIONS_BY_TOOL: dict[str, type[ToolAction]] = {
    cls.tool: cls for cls in (CmdRun, IPythonRunCell, FileRead, FileWrite, BrowseURL)
}


class ObservationBase(DescribableModel):
    """Base of every observation. `content` is the result as the model saw it."""

    observation: str
    content: LongText = ""

    def to_dict(self) -> JsonMap:
        """Return the observation as plain JSON with the keys `observation`, `message`, `content` and `extras`."""
        plain = self.model_dump(mode="json", exclude_defaults=True)
        content = plain.pop("content", "")
        kind = plain.pop("observation", self.observation)
        return {"observation": kind, "message": self.message, "content": content, "extras": plain}

    def to_memory(self) -> JsonMap:
        """Return the observation as JSON for a model, without `message`. Long content is shortened to its preview."""
        plain = self.to_dict()
        del plain["message"]
        return {**plain, "content": text_preview(self.content)}


class CmdOutput(ObservationBase):
    """The result of a command. `exit_code` is None if the command had to be stopped."""

    observation: Literal["run"] = "run"
    command: str = ""
    exit_code: int | None = None

    @property
    def message(self) -> str:
        end = "was stopped" if self.exit_code is None else f"ended with exit status {self.exit_code}"
        return f"The command {end}: {self.command}"


class BrowserOutput(ObservationBase):
    """A web page as text."""

    observation: Literal["browse"] = "browse"
    url: str = ""
    template: ClassVar[str] = "Read {0.url}"


class FileReadOutput(ObservationBase):
    """The content of a file, or of some lines of a file."""

    observation: Literal["read"] = "read"
    path: str = ""
    template: ClassVar[str] = "Read {0.path}"


class FileWriteOutput(ObservationBase):
    """The result of writing or editing a file."""

    observation: Literal["write"] = "write"
    path: str = ""
    template: ClassVar[str] = "Wrote {0.path}"


class Error(ObservationBase):
    """The result of an action that failed, was invalid, was denied or was stopped. `content`: the error text."""

    observation: Literal["error"] = "error"
    tool: str = ""
    status: Literal["failed", "invalid", "denied", "interrupted", "lost"] = "failed"

    @property
    def message(self) -> str:
        phrases = {
            "invalid": "was called with invalid arguments",
            "interrupted": "was stopped",
            "lost": "was lost",
        }
        return f"{self.tool} {phrases.get(self.status, self.status)}".strip()


class Success(ObservationBase):
    """The result of a successful call that has no observation class."""

    observation: Literal["success"] = "success"
    tool: str = ""
    template: ClassVar[str] = "{0.tool} is done"


AnyObservation: TypeAlias = Annotated[
    CmdOutput | BrowserOutput | FileReadOutput | FileWriteOutput | Error | Success,
    Field(discriminator="observation"),
]


@cache
def _action_adapter() -> TypeAdapter[AnyAction]:
    return TypeAdapter(AnyAction)


@cache
def _observation_adapter() -> TypeAdapter[AnyObservation]:
    return TypeAdapter(AnyObservation)


def action_from_dict(data: JsonMap) -> AnyAction:
    """Create an action from the result of `ActionBase.to_dict`. Raise `pydantic.ValidationError` for any other data."""
    return _action_adapter().validate_python(_flatten(data, "args", "action"))


def observation_from_dict(data: JsonMap) -> AnyObservation:
    """Create an observation from the result of `ObservationBase.to_dict`. Raise `pydantic.ValidationError` for any
    other data.
    """
    return _observation_adapter().validate_python(_flatten(data, "extras", "observation", "content"))


def _flatten(data: JsonMap, nested: str, *names: str) -> JsonMap:
    fields = data.get(nested)
    return {name: data.get(name, "") for name in names} | (fields if isinstance(fields, dict) else {})


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An action or an observation, as recorded by the event `seq`.

    `action_seq`: for an observation, the number of the event that recorded its action.
    """

    seq: int
    agent: AgentId
    item: AnyAction | AnyObservation
    action_seq: int | None = None


class ActionHistory:
    """Builds the history of actions and observations from a log's events, one event at a time."""

    def __init__(self) -> None:
        self.entries: list[HistoryEntry] = []
        self.calls: dict[CallId, tuple[int, ToolCalled]] = {}
        """Maps the id of each call without a result to (index of its history entry, event of the call)."""
        self.todo: dict[AgentId, dict[str, TodoItem]] = {}

    def add(self, ev: Envelope, item: AnyAction | AnyObservation, answers: int | None = None) -> None:
        """Append an entry for the event `ev`.

        `answers`: for an observation, the number of the event that recorded the action.
        """
        self.entries.append(HistoryEntry(ev.seq, ev.agent, item, answers))


def list_history(records: Iterable[Record], first: int = 0, last: int | None = None) -> list[HistoryEntry]:
    """Return the entries of events `first` to `last` (both included)."""
    fold = ActionHistory()
    for record in records:
        if last is not None and record.seq > last:
            break
        if isinstance(record, Envelope):
            _HANDLERS.apply(fold, record)
    return [entry for entry in fold.entries if entry.seq >= first]


def build_tool_calls(requested: Sequence[AnyAction], todo: Sequence[TodoItem]) -> tuple[ToolCallPart, ...]:
    """Convert actions to tool calls without call ids. Leave out messages, and actions that end the task.

    `todo`: the current todo list.
    """
    calls: list[tuple[str, JsonMap]] = []
    items = list(todo)
    for action in requested:
        match action:
            case AddTask() | ModifyTask():
                items = _with_task(items, action)
                todos: JsonValue = [item.model_dump(mode="json", exclude_none=True) for item in items]
                calls.append(("write_todos", {"todos": todos}))
            case ToolRun(name=name, arguments=arguments):
                calls.append((name, arguments))
            case _ if action.tool:
                fields = action.model_dump(mode="json", exclude={"action", "exception"}, exclude_none=True)
                calls.append((action.tool, fields))
    return tuple(ToolCallPart(call_id=CallId(""), name=name, arguments=fields) for name, fields in calls)


def _with_task(items: list[TodoItem], action: AddTask | ModifyTask) -> list[TodoItem]:
    if isinstance(action, ModifyTask):
        status: TodoStatus = "pending" if action.state == "open" else action.state
        return [
            item.model_copy(update={"status": status}) if item.id == action.id else item for item in items
        ]
    used_ids = {item.id for item in items}
    # Enough numbers for new ids, even if each of the existing items has one of them.
    candidates = (str(number) for number in range(1, len(items) + len(action.subtasks) + 3))
    new_ids = [candidate for candidate in candidates if candidate not in used_ids]
    task_id = action.id or new_ids.pop(0)
    subtasks = [TodoItem(id=new_ids.pop(0), content=goal, parent=task_id) for goal in action.subtasks]
    return [*items, TodoItem(id=task_id, content=action.goal, parent=action.parent or None), *subtasks]


_HANDLERS: Handlers[ActionHistory] = Handlers()


@_HANDLERS.on(UserMessageReceived)
def _on_user_message_received(fold: ActionHistory, ev: Envelope, payload: UserMessageReceived) -> None:
    fold.add(ev, Message(text=payload.text, source="user"))


@_HANDLERS.on(UserSteered)
def _on_user_steered(fold: ActionHistory, ev: Envelope, payload: UserSteered) -> None:
    fold.add(ev, Message(text=payload.text, source="user"))


@_HANDLERS.on(ModelResponded)
def _on_model_responded(fold: ActionHistory, ev: Envelope, payload: ModelResponded) -> None:
    for part in payload.parts:
        if isinstance(part, TextPart) and part.text:
            fold.add(ev, Message(text=part.text))


@_HANDLERS.on(ToolCalled)
def _on_tool_called(fold: ActionHistory, ev: Envelope, payload: ToolCalled) -> None:
    fold.calls[payload.call_id] = (len(fold.entries), payload)
    fold.add(ev, _action(payload))


def _action(call: ToolCalled) -> AnyAction:
    action_class = _ACTIONS_BY_TOOL.get(call.name)
    if action_class is not None:
        fields = {
            name: value if name == "content" else _preview_json(value)
            for name, value in call.arguments.items()
            if name in action_class.model_fields
        }
        try:
            return action_class.model_validate(fields)
        except ValidationError:
            pass  # the arguments are invalid, so the action keeps them as they are
    return ToolRun(name=call.name, arguments=call.arguments)


@_HANDLERS.on(TodoUpdated)
def _on_todo_updated(fold: ActionHistory, ev: Envelope, payload: TodoUpdated) -> None:
    before = fold.todo.get(ev.agent, {})
    fold.todo[ev.agent] = {item.id: item for item in payload.items}
    for item in payload.items:
        known = before.get(item.id)
        if known is None:
            fold.add(ev, AddTask(goal=item.content, parent=item.parent or "", id=item.id))
        if item.status != (known.status if known is not None else "pending"):
            state: TaskState = "open" if item.status == "pending" else item.status
            fold.add(ev, ModifyTask(id=item.id, state=state))


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(fold: ActionHistory, ev: Envelope, payload: ToolFinished) -> None:
    index, call = fold.calls.pop(payload.call_id, (None, None))
    observation = _observation(payload, call)
    if index is None:
        fold.add(ev, observation)
        return
    entry = fold.entries[index]
    if payload.status in ("failed", "invalid", "lost"):
        failed = entry.item.model_copy(update={"exception": text_preview(observation.content)})
        fold.entries[index] = replace(entry, item=failed)
    fold.add(ev, observation, entry.seq)


def _observation(end: ToolFinished, call: ToolCalled | None) -> AnyObservation:
    texts = [part.text for part in end.content if isinstance(part, TextContent)]
    content = texts[0] if texts else ""
    arguments = call.arguments if call is not None else {}
    path, url, command = (str(arguments.get(name, "")) for name in ("path", "url", "command"))
    code = end.data.get("exit_code")
    if end.name in ("run_command", "run_cell") and (end.status == "ok" or "exit_code" in end.data):
        exit_code = code if isinstance(code, int) else None
        return CmdOutput(content=content, command=command, exit_code=exit_code)
    if end.status != "ok":
        return Error(content=content, tool=end.name, status=end.status)
    match end.name:
        case "read_file":
            return FileReadOutput(content=content, path=path)
        case "write_file" | "edit_file":
            return FileWriteOutput(content=content, path=path)
        case "browse_url":
            return BrowserOutput(content=content, url=url)
        case _:
            return Success(content=content, tool=end.name)


@_HANDLERS.on(IterationFinished)
def _on_iteration_finished(fold: ActionHistory, ev: Envelope, payload: IterationFinished) -> None:
    if payload.action == "finish":
        fold.add(ev, AgentFinish())


@_HANDLERS.on(TurnFinished)
def _on_turn_finished(fold: ActionHistory, ev: Envelope, payload: TurnFinished) -> None:
    if payload.reason == "rejected":
        fold.add(ev, AgentReject(reason=payload.detail))
