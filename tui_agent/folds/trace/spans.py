"""The spans of a trace: a tree over turns, iterations, model calls, tools and delegates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_agent.protocol.ids import AgentId

SpanKind: TypeAlias = Literal["turn", "iteration", "model", "tool", "subtask", "compaction"]
SpanState: TypeAlias = Literal["queued", "running", "waiting", "done", "failed", "denied", "interrupted"]


@dataclass(frozen=True, slots=True)
class Span:
    """One span. Times are wall seconds; `end` None while it runs. `first_seq` and `last_seq` are the events it opens
    and closes with. `parent` and `children` are indices into `TraceView.spans`.

    A model span has its own tokens and cost. A span above it has the cost of everything below it, the output of its
    own agent's calls, and as `tokens_in` the largest request of its own agent: input tokens of successive requests
    hold each other, so their sum would say nothing about size. What was paid for is in `billed_in` and `billed_out`:
    the sums over all calls below it, delegates' too.

    The tokens of a request that was stopped nobody has counted: they are an estimate of what was sent and of the words
    that had come (`estimated`), and no part of any sum.

    `failed` and `denied` count what stands below it in that state (groups have a state, but never count)."""

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
    parent: int | None
    children: tuple[int, ...] = ()
    outcome: str = ""
    detail: str = ""
    part: int | None = None
    billed_in: int = 0
    billed_out: int = 0
    failed: int = 0
    denied: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class TraceView:
    """All spans in order of start (a tuple, or in a very long session a `Shelf`); `roots` are the turns. `failed` and `denied` count calls of models and tools:
    the one number of each that every pane shows. `turns` are those of the roots that are turns, `longest_ms` is what the
    longest root that is over took: nobody has to look at each for that, and old ones are packed."""

    spans: Sequence[Span]
    roots: tuple[int, ...]
    revision: int = 0
    failed: int = 0
    denied: int = 0
    turns: int = 0
    longest_ms: float = 0.0
