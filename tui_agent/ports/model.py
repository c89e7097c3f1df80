"""A model and what streams out of it.

Invariant: a client never raises for a provider's fault; it yields one `ModelFault` and ends. A stream that ends
without `Finished` or `ModelFault` is a cut stream.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.events.model import FaultKind, FinishReason, Purpose
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage
from tui_agent.protocol.parts import ModelPart, Usage
from tui_agent.protocol.settings import ModelInfo


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as it is offered to a model; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: JsonMap


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """All that a client needs for one call. Long texts and images in it are already resolved: every `LongText` is a
    `str`, image bytes are in `images` by their digest. `max_tokens` is always sent. Of purpose `compaction` is the one
    that has a history summarised: its answer is read by the engine alone. `answers` were given in the conversation so
    far, by its record: those that a summary stands for too; None where the messages are all that there is. `opening` are the words that it began
    with (of a long text its beginning), which a summary may stand for by now."""

    request_id: RequestId
    model: ModelInfo
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    max_tokens: int
    images: dict[str, bytes] = field(default_factory=dict)
    purpose: Purpose = "answer"
    answers: int | None = None
    opening: str = ""

    @property
    def summed(self) -> bool:
        """Whether a summary stands for the beginning."""
        return bool(self.messages) and isinstance(self.messages[0], SummaryMessage)

    @property
    def place(self) -> int:
        """Which answer of the conversation is asked for, from 0."""
        if self.answers is not None:
            return self.answers
        return sum(isinstance(message, AssistantMessage) for message in self.messages)


@dataclass(frozen=True, slots=True)
class TextChunk:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningChunk:
    text: str
    signature: str = ""
    opaque: JsonMap | None = None


@dataclass(frozen=True, slots=True)
class ToolCallChunk:
    """A piece of a call as the provider streams it; `index`, `call_id`, `name` are None where it said nothing."""

    index: int | None
    call_id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class UsageChunk:
    usage: Usage
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The provider's own finish signal."""

    reason: FinishReason
    provider_id: str = ""


@dataclass(frozen=True, slots=True)
class ModelFault:
    """A typed fault. `retry_after` is the provider's own wish in seconds; `original` its words, unchanged. `window` are the
    tokens that the model holds, where the provider says so in refusing more (else 0)."""

    kind: FaultKind
    message: str
    retry_after: float | None = None
    status: int | None = None
    original: str = ""
    hint: str = ""
    window: int = 0


ModelChunk: TypeAlias = TextChunk | ReasoningChunk | ToolCallChunk | UsageChunk | Finished | ModelFault


class ModelClient(Protocol):
    """Streams one answer a call. Cancelling the task closes the connection at once."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A whole, assembled answer: what `Agent.step` gets back from `ask`."""

    parts: tuple[ModelPart, ...]
    finish: FinishReason
    usage: Usage
    cost_usd: float | None
    first_part: int
    duration_ms: float
    first_token_ms: float | None = None
    provider_id: str = ""
    request_id: RequestId | None = None


ModelNext: TypeAlias = Callable[[ModelRequest], Awaitable[ModelReply]]
"""The rest of the middleware chain around a model call. Raises `ModelError` once a fault is final."""
