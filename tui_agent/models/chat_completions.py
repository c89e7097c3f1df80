"""Chat Completions API over HTTP.

Invariant: an answer is complete only with the provider's `finish_reason`.
"""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from tui_agent.models import chat_messages, pricing, provider_faults
from tui_agent.models.endpoint import Endpoint
from tui_agent.models.http import HttpClient, json_object
from tui_agent.ports.clock import Clock
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
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.stored_text import JsonMap

ROUTE = "chat/completions"

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "safety": "refusal",
    "refusal": "refusal",
}

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Names that providers use for the field with streamed reasoning."""
# DeepSeek, Qwen, vLLM and SGLang use the first name; OpenRouter, Groq and Ollama use the second.


class ChatCompletionsClient(HttpClient):
    """Client for one endpoint with the Chat Completions API."""

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        super().__init__(endpoint, clock)
        self._memo = chat_messages.MessageCache()

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """Return one streamed answer; see `ports.model.ModelClient`."""
        make_body = partial(build_body, request, self._endpoint, self._memo)
        return self.open_stream(ROUTE, make_body, ChatDialect(request.model))


def build_body(
    request: ModelRequest, endpoint: Endpoint, memo: chat_messages.MessageCache | None = None
) -> JsonMap:
    """Return the JSON body of one request. This client sends no reasoning effort (see `efforts.provider_effort`)."""
    messages = chat_messages.merge_user_turns(chat_messages.messages(request, memo))
    # OpenAI's newer models reject `max_tokens`; many other servers know only this name.
    limit = "max_completion_tokens" if endpoint.host == "api.openai.com" else "max_tokens"
    out: JsonMap = {
        "model": request.model.model,
        "messages": list(chat_messages.adapt_to_strict_template(messages) if endpoint.bridge else messages),
        limit: request.max_tokens,
        "stream": endpoint.stream,
    }
    if endpoint.stream:
        out["stream_options"] = {"include_usage": True}
    if request.tools:
        out["tools"] = list(chat_messages.tools(request.tools))
    return out


class ChatDialect:
    """Parser for one answer of the Chat Completions API."""

    def __init__(self, info: ModelInfo) -> None:
        self._info = info
        self._done = False
        self._id = ""

    def parse_event(self, data: bytes) -> list[ModelChunk]:
        """Parse one streamed event. Raise `ValueError` if the event is not valid JSON."""
        chunk = json_object(data)
        if chunk.get("error"):
            return [provider_faults.from_error(chunk["error"])]
        if not self._id:
            self._id = str(chunk.get("id") or "")
        out: list[ModelChunk] = []
        for choice in chunk.get("choices") or ():
            # Only one answer is requested, so other choices are ignored.
            if choice.get("index"):
                continue
            self._parse_choice(
                choice.get("delta") or choice.get("message") or {}, choice.get("finish_reason"), out
            )
        if chunk.get("usage"):
            usage = pricing.parse_usage(chunk["usage"])
            out.append(UsageChunk(usage, pricing.cost(self._info, usage)))
        return out

    def parse_body(self, body: bytes) -> list[ModelChunk]:
        """Return the chunks of an answer that was not streamed. Raise `ValueError` if the answer is not valid JSON."""
        return self.parse_event(body)

    def _parse_choice(self, delta: dict[str, Any], finish: str | None, out: list[ModelChunk]) -> None:
        for field in REASONING_FIELDS:
            if delta.get(field):
                out.append(ReasoningChunk(delta[field], opaque={"field": field}))
                break
        if delta.get("reasoning_details"):
            out.append(
                ReasoningChunk("", opaque={"field": "reasoning", "details": delta["reasoning_details"]})
            )
        content = delta.get("content")
        if content:
            out.append(TextChunk(content if isinstance(content, str) else _join_blocks(content)))
        if delta.get("refusal"):
            out.append(TextChunk(str(delta["refusal"])))
            finish = "refusal" if finish else finish
        out += [_parse_call(call) for call in delta.get("tool_calls") or ()]
        if delta.get("function_call"):
            out.append(_parse_call({"index": 0, "function": delta["function_call"]}))
        # Some servers send the reason a second time, together with the usage.
        if finish and not self._done:
            self._done = True
            out.append(self._finish_chunk(finish))

    def _finish_chunk(self, finish: str) -> ModelChunk:
        if finish in ("error", "abort", "network_error"):
            return provider_faults.fault("cut", f"The provider ended the answer with '{finish}'.")
        return FinishChunk(FINISH_REASONS.get(finish.lower(), "stop"), self._id)


def _parse_call(call: dict[str, Any]) -> ToolCallChunk:
    function = call.get("function") or {}
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    index = call.get("index")
    return ToolCallChunk(
        index=index if isinstance(index, int) else None,
        call_id=str(call["id"]) if call.get("id") else None,
        name=function.get("name") or None,
        arguments=arguments,
    )


def _join_blocks(content: object) -> str:
    """Return the text of a message's content."""
    if not isinstance(content, list):
        return str(content)
    return "".join(str(block.get("text") or "") for block in content if isinstance(block, dict))
