"""Responses API over HTTP.

Invariant: the provider stores nothing, so every request contains the whole history with unchanged reasoning items.
"""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from tui_agent.models import chat_messages, model_facts, pricing, provider_faults
from tui_agent.models.endpoint import Endpoint
from tui_agent.models.http import HttpClient, json_object
from tui_agent.ports.model import (
    FinishChunk,
    ModelChunk,
    ModelRequest,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from tui_agent.protocol.events.model import FinishReason
from tui_agent.protocol.messages import AssistantMessage, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, ReasoningPart, TextContent, TextPart, ToolCallPart
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.stored_text import JsonMap, text_preview

ROUTE = "responses"


class ResponsesClient(HttpClient):
    """Client for one endpoint with the Responses API."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """Return one streamed answer; see `ports.model.ModelClient`."""
        return self.open_stream(
            ROUTE, partial(build_body, request, self._endpoint), ResponsesDialect(request.model)
        )


def build_body(request: ModelRequest, endpoint: Endpoint) -> JsonMap:
    """Return the JSON body of one request."""
    out: JsonMap = {
        "model": request.model.model,
        "input": list(_input_items(request)),
        "max_output_tokens": request.max_tokens,
        "store": False,
        "stream": endpoint.stream,
    }
    if request.system:
        out["instructions"] = request.system
    effort = request.model.effective_effort
    if effort is not None:
        out["reasoning"] = {"effort": effort, "summary": "auto"}
    if effort is not None or model_facts.facts(request.model.model, "openai").reasoning:
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


def _input_items(request: ModelRequest) -> list[JsonMap]:
    out: list[JsonMap] = []
    for message in request.messages:
        match message:
            case UserMessage():
                out.append({"role": "user", "content": list(_content_blocks(message.content, request))})
            case SummaryMessage(text=text):
                out.append({"role": "user", "content": text_preview(text)})
            case ToolMessage():
                out.append(_result_item(message, request))
            case AssistantMessage():
                out += _answer_items(message, request.model.profile)
    return out


def _content_blocks(content: tuple[Content, ...], request: ModelRequest) -> list[JsonMap]:
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


def _result_item(message: ToolMessage, request: ModelRequest) -> JsonMap:
    blocks = _content_blocks(message.content, request)
    has_images = any(block["type"] == "input_image" for block in blocks)
    text = chat_messages.plain_text(message.content, mark_images=True)
    return {
        "type": "function_call_output",
        "call_id": message.call_id,
        "output": list(blocks) if has_images else text,
    }


def _answer_items(message: AssistantMessage, profile: str) -> list[JsonMap]:
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
    """Parser for one answer of the Responses API."""

    def __init__(self, info: ModelInfo) -> None:
        self._info = info
        self._calls: dict[int, str] = {}
        self._streamed: set[int] = set()
        self._refused = False

    def parse_event(self, data: bytes) -> list[ModelChunk]:
        """Parse one streamed event. Raise `ValueError` if the event is not valid JSON."""
        event = json_object(data)
        match event.get("type"):
            case "response.output_text.delta":
                self._streamed.add(_output_index(event))
                return [TextChunk(event.get("delta") or "")]
            case "response.refusal.delta":
                self._refused = True
                self._streamed.add(_output_index(event))
                return [TextChunk(event.get("delta") or "")]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return [ReasoningChunk(event.get("delta") or "")]
            case "response.reasoning_summary_part.added" if event.get("summary_index"):
                # A blank line between two parts of the summary.
                return [ReasoningChunk("\n\n")]
            case "response.function_call_arguments.delta":
                return self._add_arguments(_output_index(event), event.get("delta") or "")
            case "response.output_item.added":
                return self._open_item(_output_index(event), event.get("item") or {})
            case "response.output_item.done":
                return self._close_item(_output_index(event), event.get("item") or {})
            case "response.completed" | "response.incomplete" | "response.failed":
                return self._end(event.get("response") or {}, str(event["type"]))
            case "error":
                return [provider_faults.from_error(event.get("error") or event)]
            case _:
                return []

    def parse_body(self, body: bytes) -> list[ModelChunk]:
        """Return the chunks of an answer that was not streamed. Raise `ValueError` if the answer is not valid JSON."""
        response = json_object(body)
        if response.get("error"):
            return [provider_faults.from_error(response["error"])]
        out: list[ModelChunk] = []
        for position, item in enumerate(response.get("output") or ()):
            out += self._close_item(position, item)
        return out + self._end(response, f"response.{response.get('status') or 'completed'}")

    def _open_item(self, position: int, item: dict[str, Any]) -> list[ModelChunk]:
        if item.get("type") != "function_call":
            return []
        self._calls[position] = ""
        return [ToolCallChunk(position, item.get("call_id") or item.get("id"), item.get("name"), "")]

    def _add_arguments(self, position: int, piece: str) -> list[ModelChunk]:
        self._calls[position] = self._calls.get(position, "") + piece
        return [ToolCallChunk(position, None, None, piece)]

    def _close_item(self, position: int, item: dict[str, Any]) -> list[ModelChunk]:
        """Return the chunks for the parts of a complete item that were not streamed."""
        kind = item.get("type")
        if kind == "reasoning":
            fields = {
                name: item[name] for name in ("type", "id", "summary", "encrypted_content") if item.get(name)
            }
            fields.setdefault("summary", [])  # required when the item is sent back
            return [ReasoningChunk("", opaque={"item": fields})] if item.get("encrypted_content") else []
        if kind == "function_call":
            opened = [] if position in self._calls else self._open_item(position, item)
            # Some servers send the arguments only with the complete item.
            rest = str(item.get("arguments") or "") if not self._calls[position] else ""
            return [*opened, *(self._add_arguments(position, rest) if rest else [])]
        if kind == "message" and position not in self._streamed:
            self._refused = self._refused or any(
                block.get("type") == "refusal" for block in item.get("content") or ()
            )
            texts = [block.get("text") or block.get("refusal") or "" for block in item.get("content") or ()]
            return [TextChunk(text) for text in texts if text]
        return []

    def _end(self, response: dict[str, Any], event_type: str) -> list[ModelChunk]:
        out: list[ModelChunk] = []
        if response.get("usage"):
            usage = pricing.parse_usage(response["usage"])
            out.append(UsageChunk(usage, pricing.cost(self._info, usage)))
        if event_type == "response.failed":
            return [*out, provider_faults.from_error(response.get("error") or "the answer failed")]
        reason: FinishReason = "tool_calls" if self._calls else "stop"
        if event_type == "response.incomplete":
            cause = (response.get("incomplete_details") or {}).get("reason") or ""
            reason = "refusal" if cause == "content_filter" else "length"
        elif event_type != "response.completed":
            return [*out, provider_faults.fault("cut", f"The provider ended the answer as '{event_type}'.")]
        if self._refused:
            reason = "refusal"
        return [*out, FinishChunk(reason, str(response.get("id") or ""))]


def _output_index(event: dict[str, Any]) -> int:
    position = event.get("output_index")
    return position if isinstance(position, int) else 0
