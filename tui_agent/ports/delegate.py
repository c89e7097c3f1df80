"""Delegation: a task given to another agent, which works on it in a context of its own and reports.

Invariant: whoever delegates gets a report, whatever becomes of the delegate; never what the delegate said on its way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from tui_agent.protocol.ids import AgentId

DelegateEnd: TypeAlias = Literal["completed", "failed", "interrupted", "budget"]

SUBTASK = "subtask"
"""The role of a delegate that nobody named."""
INVESTIGATOR = "investigator"
"""The role of one that only looks."""


@dataclass(frozen=True, slots=True)
class Role:
    """Who a delegate is: what it is told of itself, and what it may use.

    `tools` None leaves the choice to the call, with the file tools where that names none. `model` is a model profile's
    name; empty: the model of the agent that delegates. A `read_only` one changes nothing and asks nothing. `source` is
    the file that it was read of.
    """

    name: str
    prompt: str
    description: str = ""
    tools: tuple[str, ...] | None = None
    model: str = ""
    max_iterations: int | None = None
    read_only: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class Delegation:
    """What the settings say of delegates. `roles` by name; those in `offered` can be asked for by name.

    `parallel` delegates of one agent work at a time; `depth` levels of them stand below the main agent.
    """

    roles: Mapping[str, Role] = field(default_factory=dict)
    offered: tuple[str, ...] = ()
    parallel: int = 1
    depth: int = 1
    max_iterations: int = 30
    timeout_seconds: float = 1_800.0


@dataclass(frozen=True, slots=True)
class Errand:
    """A task for a delegate. `max_tokens` bounds each of its answers; `tools` None leaves the choice to the role."""

    task: str
    role: str = SUBTASK
    tools: tuple[str, ...] | None = None
    max_tokens: int = 4_096


@dataclass(frozen=True, slots=True)
class DelegateReport:
    """What became of an errand. Tokens, cost and calls are the delegate's own."""

    agent: AgentId
    success: bool
    summary: str
    reason: DelegateEnd
    files_created: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    iterations: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class Delegates(Protocol):
    """The service behind `ToolContext.delegate`, for one call."""

    async def run(self, errand: Errand) -> DelegateReport:
        """Let a delegate work on it, and wait. Raises `ToolError` where none can begin. Cancelled, it ends the delegate."""
        ...
