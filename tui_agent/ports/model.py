"""The model protocol: requests, streamed chunks and assembled replies.

Invariant: a client reports a provider's error as one `ModelFault` and raises nothing.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Protocol, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.model import FaultKind, FinishReason, Purpose
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage
from tui_agent.protocol.parts import ModelPart, Usage
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.stored_text import JsonMap


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as it is offered to a model. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: JsonMap


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model, with everything that a client needs to send it.

    - `messages`: messages in which every `LongText` is a `str`.
    - `images`: image bytes by digest.
    - `purpose`: `compaction` asks for a summary of the history.
    - `answer_count`: number of answers in the conversation so far, including summarised answers. If None, the
      answers in `messages` are counted.
    - `opening_text`: start of the conversation's original first message. A summary does not change this text.
    """

    request_id: RequestId
    model: ModelInfo
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    max_tokens: int
    images: dict[str, bytes] = field(default_factory=dict)
    purpose: Purpose = "answer"
    answer_count: int | None = None
    opening_text: str = ""

    @property
    def starts_with_summary(self) -> bool:
        """True if a summary replaces the start of the conversation."""
        return bool(self.messages) and isinstance(self.messages[0], SummaryMessage)

    @property
    def answer_index(self) -> int:
        """The index of the requested answer in the conversation, counted from 0."""
        if self.answer_count is not None:
            return self.answer_count
        return sum(isinstance(message, AssistantMessage) for message in self.messages)


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningChunk:
    """A piece of the model's reasoning. `signature` and `opaque` go back to the provider unchanged."""

    text: str
    signature: str = ""
    opaque: JsonMap | None = None


@dataclass(frozen=True, slots=True)
class ToolCallChunk:
    """A piece of a tool call as the provider streams it. Fields that the provider left out are None."""

    index: int | None
    call_id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class UsageChunk:
    """The token counts of the request. `cost_usd` is None if the provider does not report the cost."""

    usage: Usage
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class FinishChunk:
    """The provider's signal that the answer is complete."""

    reason: FinishReason
    provider_id: str = ""


@dataclass(frozen=True, slots=True)
class ModelFault:
    """An error of a provider with its kind.

    - `retry_after`: wait in seconds that the provider requests.
    - `original`: the provider's own message.
    - `window_tokens`: size of the context window, if the provider states it when it refuses a request as too long;
      otherwise 0.
    """

    kind: FaultKind
    message: str
    retry_after: float | None = None
    status: int | None = None
    original: str = ""
    hint: str = ""
    window_tokens: int = 0


ModelChunk: TypeAlias = TextChunk | ReasoningChunk | ToolCallChunk | UsageChunk | FinishChunk | ModelFault


class ModelClient(Protocol):
    """A client of a model, which streams one answer per call. A cancelled task closes the connection at once."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's complete answer. An agent's `Agent.step` gets this answer by calling `ask`."""

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
"""Function that continues a model call: it calls the next middleware, and at the end the model.

Raise `ModelError` if the call fails and retrying does not help.
"""
