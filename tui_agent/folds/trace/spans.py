"""The spans of a trace: a tree over turns, iterations, model calls, tools and delegates."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.base import AgentId

SpanKind: TypeAlias = Literal["turn", "iteration", "model", "tool", "subtask", "compaction"]
SpanState: TypeAlias = Literal["queued", "running", "waiting", "done", "failed", "denied", "interrupted"]


@dataclass(frozen=True, slots=True)
class Span:
    """One span of the trace: a turn, an iteration, a model call, a tool call or a delegate's work.

    Times are seconds since the epoch; `end` is None while the span is open. `first_seq` and `last_seq` are the events
    that open and close the span. `parent` and `children` are indexes into `TraceView.spans`.

    A model span has its own tokens and cost. Any other span has the cost of all calls below it, and the output tokens
    of its own agent's calls. Its `tokens_in` is the largest request of its own agent, because each request contains the
    previous ones. `billed_in` and `billed_out` are the tokens that were paid for: the sums over all calls below the
    span, including those of delegates.

    The tokens of a stopped request are an estimate (`estimated`) and are not part of any sum. `failed` and `denied`
    count the failed and denied spans below this span, except turns and iterations.
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
    parent: int | None = None
    children: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceView:
    """All spans of a trace in order of start. The spans of a very long session are a `PackedList` instead of a tuple.

    `roots` are indexes of `spans`. `failed` and `denied` count calls of models and tools. `turns` is the number of
    roots that are turns. `longest_ms` is the longest duration of a finished root. `has_costs` is True if the price of a
    call is known.
    """

    spans: Sequence[Span]
    roots: tuple[int, ...]
    revision: int = 0
    failed: int = 0
    denied: int = 0
    turns: int = 0
    longest_ms: float = 0.0
    has_costs: bool = False
