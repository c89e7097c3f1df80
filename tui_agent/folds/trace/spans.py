"""The spans of a trace: a tree over turns, iterations, model calls, tools and delegates."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.ids import AgentId
from tui_agent.units import CostPrecision

SpanKind: TypeAlias = Literal["turn", "iteration", "model", "tool", "subtask", "compaction"]
SpanState: TypeAlias = Literal["queued", "running", "waiting", "done", "failed", "denied", "interrupted"]


@dataclass(frozen=True, slots=True)
class Span:
    """One span of the trace: a turn, an iteration, a model call, a tool call or a delegate's work.

    `start`, `end`: seconds since the epoch; `end` is None while the span is open.
    `first_seq`, `last_seq`: events that open and close the span.
    `parent`, `children`: indexes into `TraceView.spans`.
    `cost_usd`: cost of the model call, or of all calls below the span.
    `tokens_in`: tokens in the largest request of the span's agent, without delegates.
    `tokens_out`: output tokens of the span's agent, without delegates.
    `billed_in`, `billed_out`: tokens that were paid for, including those of delegates.
    `estimated`: True if the tokens are estimated.
    `failed`, `denied`: how many calls below this span failed or were denied.
    """

    index: int
    kind: SpanKind
    name: str
    state: SpanState
    agent: AgentId
    depth: int
    start: float
    end: float | None
    duration_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    first_seq: int
    last_seq: int
    outcome: str = ""
    detail: str = ""
    part: int | None = None
    billed_in: int = 0
    billed_out: int = 0
    failed: int = 0
    denied: int = 0
    estimated: bool = False
    cost_precision: CostPrecision = "exact"
    parent: int | None = None
    children: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceView:
    """All spans of a trace in order of start.

    `roots`: indexes of `spans`.
    `failed`, `denied`: numbers of failed and denied calls of models and tools.
    `turns`: number of roots that are turns.
    `longest_ms`: longest duration of a finished root.
    `has_costs`: True if the price of a call is known.
    """

    spans: Sequence[Span]
    roots: tuple[int, ...]
    revision: int = 0
    failed: int = 0
    denied: int = 0
    turns: int = 0
    longest_ms: float = 0.0
    has_costs: bool = False
