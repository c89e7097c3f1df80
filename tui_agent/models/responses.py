"""The Responses API, spoken directly over HTTP.

Invariant: nothing is stored with the provider (`store` is false): the history goes out whole each time, reasoning
items unchanged. An answer is complete only by `response.completed` or `response.incomplete`.
"""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from tui_agent.models import chat_messages, faults, pricing
from tui_agent.models.endpoint import Endpoint
from tui_agent.models.http import Exchange, HttpStreams
from tui_agent.ports.clock import Clock
from tui_agent.ports.model import (
    Finished,
    ModelChunk,
    ModelRequest,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from tui_agent.protocol.base import JsonMap, text_preview
from tui_agent.protocol.events.model import FinishReason
from tui_agent.protocol.messages import AssistantMessage, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, ReasoningPart, TextContent, TextPart, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo

ROUTE = "responses"


class ResponsesClient:
    """A client for one endpoint that speaks the Responses API."""

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._streams = HttpStreams(endpoint, clock)

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """One answer, streamed; see `ports.model.ModelClient`."""
        return self._streams.open(
            lambda: Exchange(ROUTE, body(request, self._endpoint), ResponsesDialect(request.model))
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._streams.aclose()


def body(request: ModelRequest, endpoint: Endpoint) -> JsonMap:
    """The JSON of one request."""
    out: JsonMap = {
        "model": request.model.model,
        "input": list(_input(request)),
        "max_output_tokens": request.max_tokens,
        "store": False,
        "stream": endpoint.stream,
    }
    if request.system:
        out["instructions"] = request.system
    effort = request.model.effective_effort
    if effort is not None:
        out["reasoning"] = {"effort": effort, "summary": "auto"}
    if effort is not None or pricing.facts(request.model.model, "openai").reasoning:
        out["include"] = ["reasoning.encrypted_content"]
    if request.tools:
        out["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]
    return out


def _input(request: ModelRequest) -> list[JsonMap]:
    out: list[JsonMap] = []
    for message in request.messages:
        match message:
            case UserMessage():
                out.append({"role": "user", "content": list(_content(message.content, request))})
            case SummaryMessage(text=text):
                out.append({"role": "user", "content": text_preview(text)})
            case ToolMessage():
                out.append(_result(message, request))
            case AssistantMessage():
                out += _assistant(message, request.model.profile)
    return out


def _content(content: tuple[Content, ...], request: ModelRequest) -> list[JsonMap]:
    out: list[JsonMap] = []
    for item in content:
        if isinstance(item, TextContent):
            out.append({"type": "input_text", "text": text_preview(item.text)})
            continue
        url = chat_messages.data_url(item, request.images) if request.model.images else None
        if url is None:
            out.append({"type": "input_text", "text": chat_messages.IMAGE_LEFT_OUT})
        else:
            out.append({"type": "input_image", "image_url": url, "detail": "auto"})
    return out


def _result(message: ToolMessage, request: ModelRequest) -> JsonMap:
    """A tool's result: a text, or blocks where it has images that the model takes."""
    blocks = _content(message.content, request)
    pictured = any(block["type"] == "input_image" for block in blocks)
    text = chat_messages.plain(message.content, mark_images=True)
    return {
        "type": "function_call_output",
        "call_id": message.call_id,
        "output": list(blocks) if pictured else text,
    }


def _assistant(message: AssistantMessage, profile: str) -> list[JsonMap]:
    out: list[JsonMap] = []
    for part in message.parts:
        match part:
            case ReasoningPart(opaque=opaque):
                item = opaque.get("item") if opaque is not None else None
                if isinstance(item, dict) and message.model == profile:
                    out.append(item)
            case TextPart(text=text):
                block: JsonMap = {"type": "output_text", "text": text_preview(text)}
                out.append({"role": "assistant", "content": [block]})
            case ToolCallPart():
                out.append(
                    {
                        "type": "function_call",
                        "call_id": part.call_id,
                        "name": part.name,
                        "arguments": json.dumps(part.arguments, ensure_ascii=False),
                    }
                )
            case _:
                pass
    return out


class ResponsesDialect:
    """Reads one answer of the Responses form."""

    def __init__(self, info: ModelInfo) -> None:
        self._info = info
        self._calls: dict[int, str] = {}
        self._said: set[int] = set()
        self._refused = False

    def event(self, data: bytes) -> list[ModelChunk]:
        """One streamed event. Raises `ValueError` where it is no JSON."""
        if data == b"[DONE]":
            return []
        event = json.loads(data)
        if not isinstance(event, dict):
            raise ValueError("an event that is no object")
        match event.get("type"):
            case "response.output_text.delta":
                self._said.add(_at(event))
                return [TextChunk(event.get("delta") or "")]
            case "response.refusal.delta":
                self._refused = True
                self._said.add(_at(event))
                return [TextChunk(event.get("delta") or "")]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return [ReasoningChunk(event.get("delta") or "")]
            case "response.reasoning_summary_part.added" if event.get("summary_index"):
                return [ReasoningChunk("\n\n")]
            case "response.function_call_arguments.delta":
                return self._arguments(_at(event), event.get("delta") or "")
            case "response.output_item.added":
                return self._opened(_at(event), event.get("item") or {})
            case "response.output_item.done":
                return self._closed(_at(event), event.get("item") or {})
            case "response.completed" | "response.incomplete" | "response.failed":
                return self._ended(event.get("response") or {}, str(event["type"]))
            case "error":
                return [faults.from_error(event.get("error") or event)]
            case _:
                return []

    def whole(self, body: bytes) -> list[ModelChunk]:
        """An answer that came in one piece."""
        response = json.loads(body)
        if not isinstance(response, dict):
            raise ValueError("an answer that is no object")
        if response.get("error"):
            return [faults.from_error(response["error"])]
        out: list[ModelChunk] = []
        for position, item in enumerate(response.get("output") or ()):
            out += self._closed(position, item)
        return out + self._ended(response, f"response.{response.get('status') or 'completed'}")

    def _opened(self, position: int, item: dict[str, Any]) -> list[ModelChunk]:
        if item.get("type") != "function_call":
            return []
        self._calls[position] = ""
        return [ToolCallChunk(position, item.get("call_id") or item.get("id"), item.get("name"), "")]

    def _arguments(self, position: int, piece: str) -> list[ModelChunk]:
        self._calls[position] = self._calls.get(position, "") + piece
        return [ToolCallChunk(position, None, None, piece)]

    def _closed(self, position: int, item: dict[str, Any]) -> list[ModelChunk]:
        """A whole item: what of it was not streamed comes out now."""
        kind = item.get("type")
        if kind == "reasoning":
            kept = {
                name: item[name] for name in ("type", "id", "summary", "encrypted_content") if item.get(name)
            }
            kept.setdefault("summary", [])
            return [ReasoningChunk("", opaque={"item": kept})] if item.get("encrypted_content") else []
        if kind == "function_call":
            opened = [] if position in self._calls else self._opened(position, item)
            rest = str(item.get("arguments") or "") if not self._calls[position] else ""
            return [*opened, *(self._arguments(position, rest) if rest else [])]
        if kind == "message" and position not in self._said:
            self._refused = self._refused or any(
                b.get("type") == "refusal" for b in item.get("content") or ()
            )
            texts = [block.get("text") or block.get("refusal") or "" for block in item.get("content") or ()]
            return [TextChunk(text) for text in texts if text]
        return []

    def _ended(self, response: dict[str, Any], how: str) -> list[ModelChunk]:
        out: list[ModelChunk] = []
        if response.get("usage"):
            usage = usage_of(response["usage"])
            out.append(UsageChunk(usage, pricing.cost(self._info, usage)))
        if how == "response.failed":
            return [*out, faults.from_error(response.get("error") or "the answer failed")]
        reason: FinishReason = "tool_calls" if self._calls else "stop"
        if how == "response.incomplete":
            cause = (response.get("incomplete_details") or {}).get("reason") or ""
            reason = "refusal" if cause == "content_filter" else "length"
        elif how != "response.completed":
            return [*out, faults.fault("cut", f"The provider ended the answer as '{how}'.")]
        if self._refused:
            reason = "refusal"
        return [*out, Finished(reason, str(response.get("id") or ""))]


def usage_of(said: dict[str, Any]) -> Usage:
    """Token counts of the Responses form."""
    return Usage(
        input_tokens=int(said.get("input_tokens") or 0),
        output_tokens=int(said.get("output_tokens") or 0),
        cached_tokens=int((said.get("input_tokens_details") or {}).get("cached_tokens") or 0),
        reasoning_tokens=int((said.get("output_tokens_details") or {}).get("reasoning_tokens") or 0),
    )


def _at(event: dict[str, Any]) -> int:
    position = event.get("output_index")
    return position if isinstance(position, int) else 0
