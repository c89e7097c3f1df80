"""Delegation: an agent gives a task to another agent, which works in its own context and returns a report.

Invariant: the calling agent always gets a report, even if the delegate fails.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, Protocol, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.ids import AgentId

DelegateEnd: TypeAlias = Literal["completed", "failed", "interrupted", "budget"]

SUBTASK = "subtask"
"""Name of a delegate's default role."""
INVESTIGATOR = "investigator"
"""Name of a role for read-only delegates."""


@dataclass(frozen=True, slots=True)
class Role:
    """A delegate's role: its system prompt and permissions.

    - `tools`: names of the delegate's tools. If None, the delegate gets the tools that the call names, or the file
      tools.
    - `model`: name of a model profile. If empty, the delegate uses the calling agent's model.
    - `read_only`: True if the delegate cannot change anything and cannot ask the user.
    - `source`: file that defines the role.
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
class DelegationRules:
    """The settings of delegates.

    - `roles`: roles by name.
    - `offered_roles`: names of the roles that the model can choose.
    - `max_parallel`: maximum number of delegates that one agent runs at a time.
    - `max_depth`: maximum number of levels of delegates below the main agent.
    """

    roles: Mapping[str, Role] = field(default_factory=dict)
    offered_roles: tuple[str, ...] = ()
    max_parallel: int = 1
    max_depth: int = 1
    max_iterations: int = 30
    timeout_seconds: float = 1_800.0


@dataclass(frozen=True, slots=True)
class DelegateTask:
    """A task for a delegate (an agent that works for another agent).

    - `max_tokens`: limit for each answer of the delegate.
    - `tools`: names of the delegate's tools. If None, the delegate gets the tools of the role.
    """

    task: str
    role: str = SUBTASK
    tools: tuple[str, ...] | None = None
    max_tokens: int = 4_096


@dataclass(frozen=True, slots=True)
class DelegateReport:
    """The result of a task that an agent gave to a delegate.

    Tokens, cost and calls count this delegate's own work, without the delegates that this delegate started.
    """

    agent: AgentId
    success: bool
    summary: str
    reason: DelegateEnd
    files_created: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    files_deleted: tuple[str, ...] = ()
    iterations: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class Delegates(Protocol):
    """The service that a tool call uses to start a delegate (`ToolContext.delegate`)."""

    async def run(self, task: DelegateTask) -> DelegateReport:
        """Run a delegate on this task and wait for its report.

        Raise `ToolError` if no delegate can start. If this call is cancelled, the delegate ends.
        """
        ...
