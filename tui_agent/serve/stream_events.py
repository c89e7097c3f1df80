"""Translation of a session's events to the server-sent events of the HTTP interface.

Invariant: the `id` of every server-sent event is the number of the session's event from which it was made.
"""

import json
from collections.abc import Mapping
from typing import TypeAlias

from tui_agent.ports.session import ReadText
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.model import ModelDelta, ModelFailed, ModelResponded
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.slash_command import CommandRan
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import QuestionAsked, TurnFinished
from tui_agent.protocol.ids import MAIN_AGENT, CallId, RequestId
from tui_agent.protocol.parts import TextPart
from tui_agent.session.headless_turn import block_text

StreamEvent: TypeAlias = tuple[str, dict[str, object]]
"""The name and the data of a server-sent event."""


class StreamTranslator:
    """Translates session events, in order, to server-sent events.

    `calls`: unfinished tool calls at the start of the stream.
    """

    def __init__(self, read_text: ReadText, calls: Mapping[CallId, ToolCalled]) -> None:
        self._read_text = read_text
        self._calls = dict(calls)
        self._streamed: set[RequestId] = set()

    async def translate(self, event: Envelope) -> StreamEvent | None:
        """Return the server-sent event for an event of the session, or None if clients do not need the event."""
        match event.payload:
            case TodoUpdated(items=items):
                return todo_event(items)
            case AgentSpawned(task=task):
                return "subtask_start", {"id": event.agent, "prompt": await self._read_text(task)}
            case AgentFinished(success=success, summary=summary):
                text = await self._read_text(summary)
                return "subtask_complete", {"id": event.agent, "summary": text, "success": success}
            case ToolCalled() as call:
                self._calls[call.call_id] = call
            case ToolStarted() | ToolFinished():
                return self._tool_event(event.payload)
            case ModelDelta() | ModelResponded() if event.agent == MAIN_AGENT:
                return await self._text_event(event.payload)
            case ContextPacked(total_tokens=usage, window=window) if event.agent == MAIN_AGENT:
                percentage = round(100 * usage / window, 1) if window else None
                return "context_update", {"usage": usage, "percentage": percentage}
            case PermissionRequested() | QuestionAsked():
                return await self._request_event(event.payload)
            case CommandRan(display=display) if display:
                content = "\n".join(block_text(block) for block in display)
                return "text", {"content": content, "answer": "", "complete": True}
            case CommandRejected(reason=message, hint=hint) | ModelFailed(message=message, hint=hint):
                return "error", {"message": f"{message} {hint}".rstrip()}
            case TurnFinished(reason=reason, detail=detail) if event.agent == MAIN_AGENT:
                return "done", {"reason": reason, "detail": detail}
            case _:
                pass
        return None

    def _tool_event(self, payload: ToolStarted | ToolFinished) -> StreamEvent:
        call_id = payload.call_id
        if isinstance(payload, ToolFinished):
            self._calls.pop(call_id, None)
            success = payload.status == "ok"
            data: dict[str, object] = {
                "id": call_id,
                "name": payload.name,
                "success": success,
                "summary": payload.summary,
            }
            return "tool_complete", data
        call = self._calls.get(call_id)
        name, summary = ("", "") if call is None else (call.name, f"{call.verb} {call.target}".strip())
        return "tool_start", {"id": call_id, "name": name, "summary": summary}

    async def _text_event(self, payload: ModelDelta | ModelResponded) -> StreamEvent | None:
        """Return an event with a piece of an answer.

        If no pieces of an answer were sent, return an event with the whole answer, marked as `complete`.
        """
        if isinstance(payload, ModelDelta):
            if payload.part_kind != "text" or not payload.text:
                return None
            self._streamed.add(payload.request_id)
            return "text", {"content": payload.text, "answer": payload.request_id}
        if payload.request_id in self._streamed:
            self._streamed.discard(payload.request_id)
            return None
        texts = [await self._read_text(part.text) for part in payload.parts if isinstance(part, TextPart)]
        answer = {"content": "".join(texts), "answer": payload.request_id, "complete": True}
        return ("text", answer) if texts else None

    async def _request_event(self, payload: PermissionRequested | QuestionAsked) -> StreamEvent:
        if isinstance(payload, QuestionAsked):
            text, options = await self._read_text(payload.text), list(payload.options)
            question: dict[str, object] = {
                "id": payload.question_id,
                "text": text,
                "form": payload.form,
                "options": options,
            }
            return "question", question
        summary = f"{payload.verb} {payload.target}"
        request = {"id": payload.request_id, "call": payload.call_id, "summary": summary}
        return "permission_request", {**request, "risk": payload.risk, "reason": payload.reason}


def todo_event(items: tuple[TodoItem, ...]) -> StreamEvent:
    """Return the server-sent event with the complete task list."""
    return "todo_update", {"todos": [item.model_dump() for item in items]}


def encode_event(event: StreamEvent, seq: int) -> bytes:
    """Return a server-sent event as bytes."""
    name, data = event
    return f"id: {seq}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()
