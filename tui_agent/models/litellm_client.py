"""Client that reaches providers without their own client through litellm, which is imported on first use.

Invariant: an answer is complete only if the provider reported its end.
"""
# Litellm's hidden retries, `.env` search, downloads and loggers are off.

import gc
import importlib
import json
import logging
import os
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, ClassVar

import anyio
import anyio.to_thread

from tui_agent.models import chat_messages, model_facts, pricing, provider_faults
from tui_agent.models.chat_completions import FINISH_REASONS
from tui_agent.models.endpoint import USER_AGENT, Endpoint
from tui_agent.ports.clock import Clock
from tui_agent.ports.model import (
    FinishChunk,
    ModelChunk,
    ModelFault,
    ModelRequest,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.units import format_time_limit

BEFORE_IMPORT = {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
}
"""Environment variables that stop litellm from downloading files and searching for `.env` files."""

CLEAN_UP_SECONDS = 2.0

EXTRA_TIMEOUT_S = 10.0
"""Seconds that are added to litellm's time limit, so that our own limit comes first."""


class LiteLLMClient:
    """Client for every provider that litellm supports."""

    # Number of clients in use. Litellm's connections belong to the module, so only the last client may close them.
    _alive: ClassVar[int] = 0

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._used = False

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """Return one streamed answer; see `ports.model.ModelClient`."""
        return aclosing(self._chunks(request))

    async def aclose(self) -> None:
        """Close the connections that all litellm clients share, if this was the last open client."""
        if not self._used:
            return
        self._used = False
        LiteLLMClient._alive -= 1
        if LiteLLMClient._alive == 0:
            await load().close_litellm_async_clients()

    async def _chunks(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        litellm = await anyio.to_thread.run_sync(load)
        if not self._used:
            self._used = True
            LiteLLMClient._alive += 1
        stream: Any = None
        try:
            with anyio.move_on_after(self._endpoint.timeout) as idle:
                stream = await litellm.acompletion(**call_arguments(request, self._endpoint))
            if idle.cancelled_caught or stream is None:
                yield self._stall_fault()
                return
            reader = _Reader(request)
            while True:
                chunk: Any = None
                with anyio.move_on_after(self._endpoint.timeout) as idle:
                    chunk = await anext(stream, None)
                if idle.cancelled_caught:
                    yield self._stall_fault()
                    return
                if chunk is None:
                    break
                for piece in reader.read(chunk):
                    yield piece
            for piece in reader.end(stream):
                yield piece
        except _known_exceptions() as error:
            yield translate_error(error, now=self._clock.now())
        finally:
            await _close_stream(stream)

    def _stall_fault(self) -> ModelFault:
        return provider_faults.fault(
            "timeout", f"The provider sent nothing for {format_time_limit(self._endpoint.timeout)}."
        )


def load() -> Any:
    """Import litellm. The first import takes two to three seconds: call this in a thread."""
    os.environ.update(BEFORE_IMPORT)
    # The warning is about litellm's own types.
    warnings.filterwarnings("ignore", message="Item .* on TypedDict class", category=UserWarning)
    collecting = gc.isenabled()
    gc.disable()  # a garbage collection during this import would block the event loop for a third of a second
    try:
        litellm: Any = importlib.import_module("litellm")
    finally:
        if collecting:
            gc.enable()
    _keep_gemini_finish_reason()
    litellm.suppress_debug_info = True
    litellm.set_verbose = False
    litellm.telemetry = False
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [logging.NullHandler()]
        logger.propagate = False
    return litellm


def _keep_gemini_finish_reason() -> None:
    """Make litellm report a finish reason for Gemini only if Gemini sent one."""
    # Without this, litellm adds `stop` to every piece, and an answer that was cut looks complete.
    gemini: Any = importlib.import_module(
        "litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini"
    ).VertexGeminiConfig
    original = gemini._check_finish_reason
    if getattr(original, "only_given", False):
        return

    def only_given(message: Any, finish_reason: str | None) -> str | None:
        return original(message, finish_reason) if finish_reason else None

    only_given.only_given = True  # type: ignore[attr-defined]
    gemini._check_finish_reason = staticmethod(only_given)


def call_arguments(request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
    """Return litellm's keyword arguments for a request."""
    info = request.model
    messages = _convert_messages(request)
    if endpoint.bridge:
        messages = chat_messages.adapt_to_strict_template(chat_messages.merge_user_turns(messages))
    effort = info.effective_effort if _can_think(messages, info.model) else None
    if effort is None:  # without thinking, Anthropic rejects a history that contains reasoning
        for message in messages:
            message.pop("thinking_blocks", None)
    out: dict[str, Any] = {
        "model": info.model,
        "messages": messages,
        "max_tokens": request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "timeout": endpoint.timeout + EXTRA_TIMEOUT_S,
        "num_retries": 0,
        "max_retries": 0,
        "drop_params": True,
        "_skip_mcp_handler": True,
        "extra_headers": {"User-Agent": USER_AGENT, **endpoint.headers},
    }
    if request.tools:
        out["tools"] = chat_messages.tools(request.tools)
    if effort is not None:
        out["reasoning_effort"] = effort
    if endpoint.base_url:
        out["api_base"] = endpoint.base_url
    # Without a key, litellm would take one from the environment and send it to the user's own address.
    if endpoint.api_key or endpoint.base_url:
        out["api_key"] = endpoint.api_key or "none"
    return out


def _convert_messages(request: ModelRequest) -> list[JsonMap]:
    out = chat_messages.messages(request)
    if "claude" not in request.model.model.lower():
        return out
    passing = sum(
        isinstance(message, UserMessage) and message.origin == "transient" for message in request.messages
    )
    # A transient message is only in this request, so no later request could use a cache entry that ends with it.
    last = len(out) - 1 - passing
    cache_ends = {0, last} if request.system else {last}
    for index in sorted(cache_ends):
        if 0 <= index < len(out):
            _mark_cache_end(out[index])
    return out


def _can_think(messages: list[JsonMap], model: str) -> bool:
    """Return True if a request with these messages can ask the model to think."""
    # Some Anthropic models reject thinking if the calls since the user's last message were made without thinking.
    if "claude" not in model.lower() or not messages or messages[-1].get("role") != "tool":
        return True
    if model_facts.supports(model.rpartition("/")[2], "anthropic", "adaptive_thinking"):
        return True
    last = next(message for message in reversed(messages) if message.get("role") == "assistant")
    return bool(last.get("thinking_blocks"))


def _mark_cache_end(message: JsonMap) -> None:
    """Ask Anthropic to cache the prompt up to the end of this message."""
    content = message.get("content")
    if isinstance(content, str) and content:
        message["content"] = [{"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}]
    elif isinstance(content, list) and content and isinstance(content[-1], dict):
        content[-1]["cache_control"] = {"type": "ephemeral"}


class _Reader:
    def __init__(self, request: ModelRequest) -> None:
        self._info = request.model
        self._id = ""
        self._usage: Usage | None = None
        self._finish = ""

    def read(self, chunk: Any) -> Iterable[ModelChunk]:
        self._id = self._id or str(getattr(chunk, "id", "") or "")
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            self._usage = pricing.parse_usage(
                usage.model_dump() if hasattr(usage, "model_dump") else dict(usage)
            )
        for choice in getattr(chunk, "choices", None) or ():
            yield from _delta_chunks(choice.delta)
            self._finish = str(getattr(choice, "finish_reason", None) or self._finish)

    def end(self, stream: Any) -> Iterable[ModelChunk]:
        """Yield the chunks that are known only at the end of litellm's stream."""
        # Litellm reports `stop` even if an answer was cut, so only the provider's own reason gives a `FinishChunk`.
        if self._usage is not None:
            yield UsageChunk(self._usage, pricing.cost(self._info, self._usage))
        reason = (
            getattr(stream, "received_finish_reason", self._finish)
            or getattr(stream, "intermittent_finish_reason", None)  # litellm stores Gemini's reason here
        )
        if reason:
            yield FinishChunk(FINISH_REASONS.get(str(reason).lower(), "stop"), self._id)


def _delta_chunks(delta: Any) -> Iterable[ModelChunk]:
    thinking_blocks = getattr(delta, "thinking_blocks", None) or ()
    reasoning = getattr(delta, "reasoning_content", None)
    for block in thinking_blocks:
        kind = block.get("type")
        if kind == "redacted_thinking":
            yield ReasoningChunk("", opaque={"block": "redacted_thinking", "data": block.get("data")})
        else:
            # A block with a signature repeats the whole reasoning text. `delta.reasoning_content` has only the new
            # piece.
            text = (
                reasoning
                if isinstance(reasoning, str) and len(thinking_blocks) == 1
                else block.get("thinking") or ""
            )
            yield ReasoningChunk(text, block.get("signature") or "", {"block": "thinking"})
    if not thinking_blocks and reasoning:
        yield ReasoningChunk(reasoning, opaque={"field": "reasoning_content"})
    if delta.content:
        yield TextChunk(delta.content)
    for call in delta.tool_calls or ():
        function = call.function
        raw = function.arguments if function is not None else None
        yield ToolCallChunk(
            index=call.index if isinstance(call.index, int) else None,
            call_id=call.id or None,
            name=(function.name or None) if function is not None else None,
            arguments=raw if isinstance(raw, str) else json.dumps(raw) if raw else "",
        )


_CUT_NAMES = ("ReadError", "RemoteProtocolError")
_CUT_MESSAGES = (
    "peer closed connection",
    "incomplete chunked read",
    "Response payload is not completed",
    "TransferEncoding",
)
"""Texts in an exception about a broken connection."""


def translate_error(error: BaseException, *, now: float) -> ModelFault:
    """Convert litellm's exception to a fault."""
    inner = getattr(error, "original_exception", None)
    if isinstance(inner, BaseException) and inner is not error:
        return translate_error(inner, now=now)
    message = str(error)
    name = type(error).__name__
    if name == "ContextWindowExceededError":
        return provider_faults.from_status(400, f"context_length_exceeded: {message}", {}, now=now)
    short = message[:500]
    if name == "ContentPolicyViolationError":
        return provider_faults.fault("refusal", f"The provider refused: {short}", original=message)
    if "Timeout" in name:
        return provider_faults.fault(
            "timeout", f"The provider did not answer in time: {short}", original=message
        )
    if name in _CUT_NAMES or any(words in message for words in _CUT_MESSAGES):
        problem = f"The connection broke in the middle of the answer: {short}"
        return provider_faults.fault("cut", problem, original=message)
    status = _status(error)
    headers = getattr(error, "litellm_response_headers", None) or getattr(
        getattr(error, "response", None), "headers", None
    )
    lower = {str(key).lower(): str(value) for key, value in dict(headers or {}).items()}
    # Litellm puts this prefix before the names of the provider's own headers.
    lower = {key.removeprefix("llm_provider-"): value for key, value in lower.items()} | lower
    return provider_faults.from_status(status, message, lower, now=now)


def _status(error: BaseException) -> int:
    """Return the HTTP status of a litellm error (0: none)."""
    for candidate in (error.__cause__, error.__context__, error):
        status = getattr(candidate, "status_code", None)
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return 0


def _known_exceptions() -> tuple[type[BaseException], ...]:
    return (
        # Litellm raises built-in exceptions if a provider's answer has an unexpected form.
        importlib.import_module("openai").OpenAIError,
        importlib.import_module("httpx").HTTPError,
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RuntimeError,
        AssertionError,
    )


async def _close_stream(stream: Any) -> None:
    """Close litellm's stream within a time limit, even if the task was cancelled."""
    if stream is None or not hasattr(stream, "aclose"):
        return
    with anyio.move_on_after(CLEAN_UP_SECONDS, shield=True):
        await stream.aclose()
