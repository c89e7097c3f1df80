"""The log as actions and observations, and actions as the tool calls that carry them out. Pure.

Invariant: every observation names the action that it answers; entries are in the log's order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tui_agent.folds.dispatch import Handlers
from tui_agent.protocol import actions, observations
from tui_agent.protocol.actions import AnyAction
from tui_agent.protocol.base import BlobText, JsonMap, LongText, text_preview
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import IterationFinished, TurnFinished, UserMessageReceived, UserSteered
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.observations import AnyObservation
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart

_STATES: dict[str, actions.TaskState] = {
    "pending": "open",
    "in_progress": "in_progress",
    "completed": "completed",
    "abandoned": "abandoned",
    "verified": "verified",
}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An action or observation of event `seq`. For an observation `action_seq` is the seq of its action."""

    seq: int
    agent: AgentId
    item: AnyAction | AnyObservation
    action_seq: int | None = None


class ActionHistory:
    """A fold of a log, or of a part of one, into its actions and observations."""

    def __init__(self) -> None:
        self.entries: list[HistoryEntry] = []
        self.calls: dict[CallId, tuple[int, ToolCalled]] = {}
        """Open calls, each with the index of its entry."""
        self.todo: dict[AgentId, dict[str, TodoItem]] = {}

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if it was an action or an observation."""
        return _HANDLERS.apply(self, ev)

    def view(self) -> tuple[HistoryEntry, ...]:
        """Return all entries so far."""
        return tuple(self.entries)

    def add(self, ev: Envelope, item: AnyAction | AnyObservation, answers: int | None = None) -> bool:
        """Append an entry; always returns True."""
        self.entries.append(HistoryEntry(ev.seq, ev.agent, item, answers))
        return True


def list_history(records: Iterable[Record], first: int = 0, last: int | None = None) -> list[HistoryEntry]:
    """Return the entries of events `first` to `last` (both included).

    An observation may answer an action before `first`.
    """
    fold = ActionHistory()
    for record in records:
        if last is not None and record.seq > last:
            break
        if isinstance(record, Envelope):
            fold.apply(record)
    return [entry for entry in fold.entries if entry.seq >= first]


def build_tool_calls(
    requested: Sequence[AnyAction], todo: Sequence[TodoItem] = ()
) -> tuple[ToolCallPart, ...]:
    """Return the calls that carry out actions, without ids (the engine adds them). `todo` is the current task
    list.

    Messages and endings are not calls and are left out.
    """
    calls: list[ToolCallPart] = []
    items = list(todo)
    for action in requested:
        name = action.name if isinstance(action, actions.ToolRun) else actions.ACTION_TOOLS.get(action.action)
        if name is None:
            continue
        if isinstance(action, actions.AddTask | actions.ModifyTask):
            items = _with_task(items, action)
        calls.append(ToolCallPart(call_id=CallId(""), name=name, arguments=_arguments(action, items)))
    return tuple(calls)


def _arguments(action: AnyAction, items: Sequence[TodoItem]) -> JsonMap:
    match action:
        case actions.CmdRun(command=command, shell=shell):
            return {"command": command} if shell is None else {"command": command, "shell": shell}
        case actions.FileRead(path=path, first_line=first, lines=lines):
            limit: JsonMap = {"limit": lines} if lines else {}
            return {"path": path, "offset": first, **limit}
        case actions.ToolRun(arguments=arguments):
            return arguments
        case actions.AddTask() | actions.ModifyTask():
            return {"todos": [item.model_dump(mode="json", exclude_none=True) for item in items]}
        case _:
            return action.model_dump(mode="json", exclude={"action", "exception"})


def _with_task(items: list[TodoItem], action: actions.AddTask | actions.ModifyTask) -> list[TodoItem]:
    if isinstance(action, actions.ModifyTask):
        status = next(candidate for candidate, state in _STATES.items() if state == action.state)
        return [
            item.model_copy(update={"status": status}) if item.id == action.id else item for item in items
        ]
    used_ids = {item.id for item in items}
    candidates = (str(number) for number in range(1, len(items) + len(action.subtasks) + 3))
    new_ids = [candidate for candidate in candidates if candidate not in used_ids]
    task_id = action.id or new_ids.pop(0)
    subtasks = [TodoItem(id=new_ids.pop(0), content=goal, parent=task_id) for goal in action.subtasks]
    return [*items, TodoItem(id=task_id, content=action.goal, parent=action.parent or None), *subtasks]


_HANDLERS: Handlers[ActionHistory] = Handlers()


@_HANDLERS.on(UserMessageReceived)
def _on_user_message_received(fold: ActionHistory, ev: Envelope, payload: UserMessageReceived) -> bool:
    return fold.add(ev, actions.Message(text=payload.text, source="user"))


@_HANDLERS.on(UserSteered)
def _on_user_steered(fold: ActionHistory, ev: Envelope, payload: UserSteered) -> bool:
    return fold.add(ev, actions.Message(text=payload.text, source="user"))


@_HANDLERS.on(ModelResponded)
def _on_model_responded(fold: ActionHistory, ev: Envelope, payload: ModelResponded) -> bool:
    texts = [part.text for part in payload.parts if isinstance(part, TextPart) and part.text]
    for text in texts:
        fold.add(ev, actions.Message(text=text))
    return bool(texts)


@_HANDLERS.on(ToolCalled)
def _on_tool_called(fold: ActionHistory, ev: Envelope, payload: ToolCalled) -> bool:
    fold.calls[payload.call_id] = (len(fold.entries), payload)
    return fold.add(ev, _action(payload))


def _action(call: ToolCalled) -> AnyAction:
    arguments = call.arguments

    def text_argument(name: str) -> LongText:
        value = arguments.get(name, "")
        if isinstance(value, dict) and set(value) == set(BlobText.model_fields):
            return BlobText.model_validate(value)
        return value if isinstance(value, str) else ""

    def preview_argument(name: str) -> str:
        return text_preview(text_argument(name))

    match call.name:
        case "run_command":
            shell = arguments.get("shell")
            return actions.CmdRun(
                command=preview_argument("command"), shell=shell if isinstance(shell, bool) else None
            )
        case "run_cell":
            return actions.IPythonRunCell(code=preview_argument("code"))
        case "read_file":
            offset, limit = arguments.get("offset"), arguments.get("limit")
            return actions.FileRead(
                path=preview_argument("path"),
                first_line=offset if isinstance(offset, int) else 1,
                lines=limit if isinstance(limit, int) else 0,
            )
        case "write_file":
            overwrite = arguments.get("overwrite") is True
            return actions.FileWrite(
                path=preview_argument("path"), content=text_argument("content"), overwrite=overwrite
            )
        case "browse_url":
            return actions.BrowseURL(url=preview_argument("url"))
        case _:
            return actions.ToolRun(name=call.name, arguments=arguments)


@_HANDLERS.on(TodoUpdated)
def _on_todo_updated(fold: ActionHistory, ev: Envelope, payload: TodoUpdated) -> None:
    before = fold.todo.get(ev.agent, {})
    fold.todo[ev.agent] = {item.id: item for item in payload.items}
    for item in payload.items:
        known = before.get(item.id)
        if known is None:
            fold.add(ev, actions.AddTask(goal=item.content, parent=item.parent or "", id=item.id))
        if item.status != (known.status if known is not None else "pending"):
            fold.add(ev, actions.ModifyTask(id=item.id, state=_STATES[item.status]))


@_HANDLERS.on(ToolFinished)
def _on_tool_finished(fold: ActionHistory, ev: Envelope, payload: ToolFinished) -> bool:
    index, call = fold.calls.pop(payload.call_id, (None, None))
    observation = _observation(payload, call)
    if index is None:
        return fold.add(ev, observation)
    entry = fold.entries[index]
    if payload.status in ("failed", "invalid", "lost"):
        failed = entry.item.model_copy(update={"exception": text_preview(observation.content)})
        fold.entries[index] = replace(entry, item=failed)
    return fold.add(ev, observation, entry.seq)


def _observation(end: ToolFinished, call: ToolCalled | None) -> AnyObservation:
    texts = [part.text for part in end.content if isinstance(part, TextContent)]
    content = texts[0] if texts else ""
    arguments = call.arguments if call is not None else {}
    path, url, command = (str(arguments.get(name, "")) for name in ("path", "url", "command"))
    code = end.data.get("exit_code")
    if end.name in ("run_command", "run_cell") and (end.status == "ok" or "exit_code" in end.data):
        exit_code = code if isinstance(code, int) else None
        return observations.CmdOutput(content=content, command=command, exit_code=exit_code)
    if end.status != "ok":
        return observations.Error(content=content, tool=end.name, status=end.status)
    match end.name:
        case "read_file":
            return observations.FileRead(content=content, path=path)
        case "write_file" | "edit_file":
            return observations.FileWrite(content=content, path=path)
        case "browse_url":
            return observations.BrowserOutput(content=content, url=url)
        case _:
            return observations.Success(content=content, tool=end.name)


@_HANDLERS.on(IterationFinished)
def _on_iteration_finished(fold: ActionHistory, ev: Envelope, payload: IterationFinished) -> bool:
    return payload.action == "finish" and fold.add(ev, actions.AgentFinish())


@_HANDLERS.on(TurnFinished)
def _on_turn_finished(fold: ActionHistory, ev: Envelope, payload: TurnFinished) -> bool:
    return payload.reason == "rejected" and fold.add(ev, actions.AgentReject(reason=payload.detail))
