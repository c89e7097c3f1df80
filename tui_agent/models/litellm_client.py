"""Every other provider, by litellm. The only module that imports litellm, on first use.

Invariant: nothing of litellm's is trusted that was found wrong: an answer is complete only when the provider itself
said so (`received_finish_reason`), tool calls are assembled elsewhere, its hidden retries are off, its `.env` search
and downloads are off, its loggers are silent.
"""

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

from tui_agent.models import chat_messages, faults, pricing
from tui_agent.models import stream_bridge as bridging
from tui_agent.models.chat_completions import FINISHES, usage_of
from tui_agent.models.endpoint import USER_AGENT, Endpoint
from tui_agent.ports.clock import Clock
from tui_agent.ports.model import (
    Finished,
    ModelChunk,
    ModelFault,
    ModelRequest,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import Usage

BEFORE_IMPORT = {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
}
"""PRODUCTION: no `.env` is searched for and loaded; the others: nothing is downloaded."""

CLEAN_UP_SECONDS = 2.0

OWN_CLOCK_FIRST = 10.0
"""Seconds by which litellm's time limit comes after ours, which tells a stall apart."""


class LiteLLMClient:
    """A client for whatever litellm can reach."""

    _alive: ClassVar[int] = 0

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._used = False

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """One answer, streamed; see `ports.model.ModelClient`."""
        return aclosing(self._chunks(request))

    async def aclose(self) -> None:
        """Close litellm's connections once the last client is done (they are shared)."""
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
                stream = await litellm.acompletion(**arguments(request, self._endpoint))
            if idle.cancelled_caught or stream is None:
                yield self._stalled()
                return
            reader = _Reader(request)
            while True:
                chunk: Any = None
                with anyio.move_on_after(self._endpoint.timeout) as idle:
                    chunk = await anext(stream, None)
                if idle.cancelled_caught:
                    yield self._stalled()
                    return
                if chunk is None:
                    break
                for piece in reader.read(chunk):
                    yield piece
            for piece in reader.end(stream):
                yield piece
        except _raised() as error:
            yield translated(error, now=self._clock.now())
        finally:
            await _closed(stream)

    def _stalled(self) -> ModelFault:
        return faults.fault("timeout", f"The provider sent nothing for {self._endpoint.timeout:g} s.")


def load() -> Any:
    """litellm, imported quietly: two to three seconds the first time. Call it in a thread."""
    os.environ.update(BEFORE_IMPORT)
    warnings.filterwarnings(
        "ignore", message="Item .* on TypedDict class", category=UserWarning
    )  # its own types
    collecting = gc.isenabled()
    gc.disable()  # collections during this import stall the loop's thread for a third of a second
    try:
        litellm: Any = importlib.import_module("litellm")
    finally:
        if collecting:
            gc.enable()
    _keep_geminis_finish()
    litellm.suppress_debug_info = True
    litellm.set_verbose = False
    litellm.telemetry = False
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [logging.NullHandler()]
        logger.propagate = False
    return litellm


def _keep_geminis_finish() -> None:
    """litellm writes `stop` into every piece of a Gemini answer, so that a cut one could not be told from a whole one:
    a piece has a finish reason here only where Gemini gave one."""
    gemini: Any = importlib.import_module(
        "litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini"
    ).VertexGeminiConfig
    known = gemini._check_finish_reason
    if getattr(known, "only_given", False):
        return

    def only_given(message: Any, finish_reason: str | None) -> str | None:
        return known(message, finish_reason) if finish_reason else None

    only_given.only_given = True  # type: ignore[attr-defined]
    gemini._check_finish_reason = staticmethod(only_given)


def arguments(request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
    """What litellm is called with."""
    info = request.model
    messages = _messages(request)
    if endpoint.bridge:
        messages = bridging.bridged(chat_messages.in_turns(messages))
    effort = info.effective_effort if _may_think(messages, info.model) else None
    if effort is None:  # without thinking, Anthropic refuses a history with thoughts in it
        for message in messages:
            message.pop("thinking_blocks", None)
    out: dict[str, Any] = {
        "model": info.model,
        "messages": messages,
        "max_tokens": request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "timeout": endpoint.timeout + OWN_CLOCK_FIRST,
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
    if endpoint.api_key or endpoint.base_url:
        out["api_key"] = endpoint.api_key or "none"
    return out


def _messages(request: ModelRequest) -> list[JsonMap]:
    out = chat_messages.messages(request)
    if "claude" not in request.model.model.lower():
        return out
    last = (
        len(out) - 1 - sum(isinstance(one, UserMessage) and one.kind == "passing" for one in request.messages)
    )
    marked = {0, last} if request.system else {last}
    for index in sorted(marked):
        if 0 <= index < len(out):
            _break_cache(out[index])
    return out


def _may_think(messages: list[JsonMap], model: str) -> bool:
    """Whether thinking can be asked for: after calls that another model made without its thoughts, models of
    Anthropic's with a fixed budget refuse it until the user speaks again."""
    if "claude" not in model.lower() or not messages or messages[-1].get("role") != "tool":
        return True
    if pricing.supports(model.rpartition("/")[2], "anthropic", "adaptive_thinking"):
        return True
    last = next(message for message in reversed(messages) if message.get("role") == "assistant")
    return bool(last.get("thinking_blocks"))


def _break_cache(message: JsonMap) -> None:
    """Ask Anthropic to keep the prompt up to the end of this message."""
    content = message.get("content")
    if isinstance(content, str) and content:
        message["content"] = [{"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}]
    elif isinstance(content, list) and content and isinstance(content[-1], dict):
        content[-1]["cache_control"] = {"type": "ephemeral"}


class _Reader:
    """litellm's chunks to ours."""

    def __init__(self, request: ModelRequest) -> None:
        self._info = request.model
        self._id = ""
        self._usage: Usage | None = None
        self._finish = ""

    def read(self, chunk: Any) -> Iterable[ModelChunk]:
        self._id = self._id or str(getattr(chunk, "id", "") or "")
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            self._usage = usage_of(usage.model_dump() if hasattr(usage, "model_dump") else dict(usage))
        for choice in getattr(chunk, "choices", None) or ():
            yield from _delta(choice.delta)
            self._finish = str(getattr(choice, "finish_reason", None) or self._finish)

    def end(self, stream: Any) -> Iterable[ModelChunk]:
        """The end: complete only if the provider said so. litellm makes up a `stop` where a body just ended."""
        if self._usage is not None:
            yield UsageChunk(self._usage, pricing.cost(self._info, self._usage))
        said = (
            getattr(stream, "received_finish_reason", self._finish)
            or getattr(stream, "intermittent_finish_reason", None)  # where it keeps Gemini's
        )
        if said:
            yield Finished(FINISHES.get(str(said).lower(), "stop"), self._id)


def _delta(delta: Any) -> Iterable[ModelChunk]:
    thoughts = getattr(delta, "thinking_blocks", None) or ()
    said = getattr(delta, "reasoning_content", None)
    for block in thoughts:
        kind = block.get("type")
        if kind == "redacted_thinking":
            yield ReasoningChunk("", opaque={"block": "redacted_thinking", "data": block.get("data")})
        else:
            # The block that brings the signature repeats the whole text; the delta's own field does not.
            text = said if isinstance(said, str) and len(thoughts) == 1 else block.get("thinking") or ""
            yield ReasoningChunk(text, block.get("signature") or "", {"block": "thinking"})
    if not thoughts and said:
        yield ReasoningChunk(said, opaque={"field": "reasoning_content"})
    if delta.content:
        yield TextChunk(delta.content)
    for call in delta.tool_calls or ():
        function = call.function
        given = function.arguments if function is not None else None
        yield ToolCallChunk(
            index=call.index if isinstance(call.index, int) else None,
            call_id=call.id or None,
            name=(function.name or None) if function is not None else None,
            arguments=given if isinstance(given, str) else json.dumps(given) if given else "",
        )


def translated(error: BaseException, *, now: float) -> ModelFault:
    """litellm's exception as one fault of ours: by status first, its class names lie."""
    inner = getattr(error, "original_exception", None)
    if isinstance(inner, BaseException) and inner is not error:
        return translated(inner, now=now)
    said = str(error)
    name = type(error).__name__
    if name == "ContextWindowExceededError":
        return faults.from_status(400, f"context_length_exceeded: {said}", {}, now=now)
    if name == "ContentPolicyViolationError":
        return faults.fault("refusal", f"The provider refused: {said[:500]}", original=said)
    if "Timeout" in name:
        return faults.fault("timeout", f"The provider did not answer in time: {said[:500]}", original=said)
    if _was_cut(error, said):
        return faults.fault(
            "cut", f"The connection broke in the middle of the answer: {said[:500]}", original=said
        )
    status = _status(error)
    headers = getattr(error, "litellm_response_headers", None) or getattr(
        getattr(error, "response", None), "headers", None
    )
    lower = {str(key).lower(): str(value) for key, value in dict(headers or {}).items()}
    lower = {key.removeprefix("llm_provider-"): value for key, value in lower.items()} | lower
    return faults.from_status(status, said, lower, now=now)


def _status(error: BaseException) -> int:
    """The provider's own status: that of the exception which litellm translated (it makes 529 a 500); 0: none."""
    for found in (error.__cause__, error.__context__, error):
        status = getattr(found, "status_code", None)
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return 0


def _was_cut(error: BaseException, said: str) -> bool:
    cut = (
        "peer closed connection",
        "incomplete chunked read",
        "Response payload is not completed",
        "TransferEncoding",
    )
    return any(words in said for words in cut) or type(error).__name__ in ("ReadError", "RemoteProtocolError")


def _raised() -> tuple[type[BaseException], ...]:
    """What litellm is known to raise: the OpenAI SDK's tree, its transports', and plain slips of its own."""
    return (
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


async def _closed(stream: Any) -> None:
    """Close a stream, whatever happened, within a limit."""
    if stream is None or not hasattr(stream, "aclose"):
        return
    with anyio.move_on_after(CLEAN_UP_SECONDS, shield=True):
        await stream.aclose()
