"""Events of model requests: requests, answers and failures."""

from typing import Literal, TypeAlias

from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId, CallId, RequestId
from tui_agent.protocol.parts import ModelPart, Usage
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.stored_text import LongText
from tui_agent.units import CostPrecision

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

A request is retried after `rate_limit`, `overloaded`, `server_error`, `transport`, `timeout`, `cut` and `empty`.
`server_error`: HTTP status 500 or more. `transport`: the server cannot be reached.
"""

Purpose: TypeAlias = Literal["answer", "compaction"]

FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "refusal"]


class ModelRequested(Payload):
    """A request is about to be sent to a model.

    The `context.packed` event with this `request_id` describes the contents. `summarises`: agent whose history is
    summarised (`purpose` is `compaction`). The cost counts for this agent.
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

    Streamed text is collected for 50 ms, or until 2 KB have arrived, before it is recorded. `part_index`: index of the
    part in the answer. A tool call's arguments are recorded only in the complete answer, because secrets cannot be
    recognised in single pieces.
    """

    kind: Literal["model.delta"] = "model.delta"
    request_id: RequestId
    part_kind: Literal["text", "reasoning", "tool_call"]
    part_index: int
    text: str
    name: str = ""
    call_id: CallId | None = None


class ModelResponded(Payload):
    """A complete answer of a model. `first_part`: number of the answer's first part. Parts are counted through the
    whole session.

    `cost_usd`: null if no price is known. Times are in milliseconds since the request. `author`: `agent` if an agent
    wrote the answer without a model. Such an answer has no request and no cost. Answers of agent programs such as
    `codex` have no request.
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

    @property
    def cost_precision(self) -> CostPrecision:
        """`partial` if no price is known, `estimated` if tui-agent estimated the tokens, otherwise `exact`."""
        if self.author == "agent":
            return "exact"
        return "partial" if self.cost_usd is None else "estimated" if self.usage.estimated else "exact"


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
    """A model request failed and is not retried. `partial`: text received before the failure, for display only.

    `usage`, `cost_usd`: estimates if the request was sent and then stopped, cut off or interrupted by a crash.
    `window`: context window that the provider stated when it refused a request as too long (0: unknown).
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

    @property
    def cost_precision(self) -> CostPrecision:
        """`partial` if the provider may charge an unknown amount, `estimated` if tui-agent estimated the tokens,
        otherwise `exact`."""
        if self.cost_usd is None:
            is_free = self.usage == Usage() and self.fault != "cancelled"
            return "exact" if is_free else "partial"
        return "estimated" if self.usage.estimated else "exact"
