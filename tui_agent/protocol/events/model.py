"""Events of model requests: requests, answers and failures."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import AgentId, CallId, LongText, Payload, RequestId
from tui_agent.protocol.parts import ModelPart, Usage
from tui_agent.protocol.settings import ModelInfo

FaultKind: TypeAlias = Literal[
    "rate_limit",
    "overloaded",
    "overflow",
    "auth",
    "server_error",
    "transport",
    "timeout",
    "cut",
    "empty",
    "malformed",
    "refusal",
    "invalid_request",
    "script",
    "client",
]
"""Kind of a provider's error.

The kinds `rate_limit`, `overloaded`, `server_error`, `transport`, `timeout`, `cut` and `empty` are temporary, and the
request is retried. Other kinds are not retried. `server_error` is an HTTP status of 500 or more. `transport` means that
the server cannot be reached.
"""

Purpose: TypeAlias = Literal["answer", "compaction"]

FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "refusal"]


class ModelRequested(Payload):
    """A request is about to be sent to a model.

    The `context.packed` event with the same `request_id` describes the contents. For a summary (`purpose` is
    `compaction`), `summarises` is the agent with the summarised history. The cost is added to this agent.
    """

    kind: Literal["model.requested"] = "model.requested"
    request_id: RequestId
    iteration: int
    local_iteration: int
    model: ModelInfo
    tools: tuple[str, ...]
    messages: int
    max_tokens: int
    estimated_tokens: int = 0
    purpose: Purpose = "answer"
    summarises: AgentId | None = None


class ModelDelta(Payload):
    """A piece of a streaming answer.

    The model's chunks are merged for 50 ms, or up to 2 KB, before they are recorded. `part_index` is the index of the
    part in the answer. A tool call's arguments are recorded as one text when the answer is complete, because secrets in
    them cannot be recognised earlier.
    """

    kind: Literal["model.delta"] = "model.delta"
    request_id: RequestId
    part_kind: Literal["text", "reasoning", "tool_call"]
    part_index: int
    text: str
    name: str = ""
    call_id: CallId | None = None


class ModelResponded(Payload):
    """A complete answer of a model. Its parts are numbered from `first_part`.

    `cost_usd` is None if no price is known. Times are in milliseconds since the request. `author` is `agent` for text
    and calls that an agent produced without a model; these have no request and no cost. An answer of an agent's program
    also has no request.
    """

    kind: Literal["model.responded"] = "model.responded"
    request_id: RequestId
    first_part: int
    parts: tuple[ModelPart, ...]
    finish: FinishReason
    usage: Usage
    cost_usd: float | None
    duration_ms: float
    first_token_ms: float | None = None
    provider_id: str = ""
    author: Literal["model", "agent"] = "model"


class ModelRetried(Payload):
    """A model request failed for a temporary reason and is sent again after `wait_s` seconds.

    The partial answer is discarded.
    """

    kind: Literal["model.retried"] = "model.retried"
    request_id: RequestId
    attempt: int
    fault: FaultKind
    message: str
    wait_s: float
    status: int | None = None


class ModelFailed(Payload):
    """A model request failed and is not retried. `partial` is the text received before the failure, for display only.

    `window` is the model's context window (0: unknown). It is set if the provider refused the request as too long and
    stated the window.
    """

    kind: Literal["model.failed"] = "model.failed"
    request_id: RequestId
    fault: FaultKind | Literal["cancelled"]
    message: str
    hint: str = ""
    status: int | None = None
    attempts: int = 1
    partial: LongText = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    window: int = 0
