"""The running delegates of a session.

Invariant: the state of a delegate is derived from `agent.spawned` and the later events with the delegate's id.
"""

from collections.abc import Mapping
from dataclasses import field, replace

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.instructions import AgentInstructions
from tui_agent.protocol.base import AgentId, CallId, RequestId, text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.parts import Usage, add_cost
from tui_agent.protocol.settings import ModelInfo, PolicyName


@dataclass(frozen=True, slots=True)
class DelegateState:
    """A delegate that has not ended. Its totals do not include its own delegates."""

    agent: AgentId
    name: str
    parent: AgentId
    level: int
    call_id: CallId | None
    task: str
    tools: tuple[str, ...]
    model: ModelInfo
    policy: PolicyName | None
    """Name of the policy for the delegate's calls; None for the session's policy."""
    max_tokens: int | None
    max_iterations: int | None
    start_seq: int
    number: int = 0
    """Number of the subtask in the session, counted from 1."""
    iteration: int = 0
    local_iteration: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    model_calls: int = 0
    tool_calls: int = 0
    request: RequestId | None = None
    """Id of the delegate's model request that has no answer yet."""
    files_created: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    files_deleted: tuple[str, ...] = ()
    instructions: AgentInstructions = field(default_factory=AgentInstructions)

    def with_usage(self, usage: Usage, cost: float | None) -> "DelegateState":
        """Return the delegate with the tokens and the cost of one more finished model call."""
        return replace(
            self,
            input_tokens=self.input_tokens + usage.input_tokens,
            output_tokens=self.output_tokens + usage.output_tokens,
            cost_usd=add_cost(self.cost_usd, cost),
            model_calls=self.model_calls + 1,
            request=None,
        )

    def with_changed_file(self, path: str, *, created: bool) -> "DelegateState":
        """Return the delegate with `path` added to its changed files. Changes by its own delegates count too."""
        if path in self.files_created or path in self.files_modified:
            return self
        if path in self.files_deleted:
            return replace(
                self,
                files_modified=(*self.files_modified, path),
                files_deleted=_remove_path(self.files_deleted, path),
            )
        if created:
            return replace(self, files_created=(*self.files_created, path))
        return replace(self, files_modified=(*self.files_modified, path))

    def with_removed_file(self, path: str) -> "DelegateState":
        """Return the delegate after it removed a file."""
        if path in self.files_created:
            return replace(self, files_created=_remove_path(self.files_created, path))
        return replace(
            self,
            files_modified=_remove_path(self.files_modified, path),
            files_deleted=(*_remove_path(self.files_deleted, path), path),
        )


def _remove_path(paths: tuple[str, ...], path: str) -> tuple[str, ...]:
    return tuple(other for other in paths if other != path)


def new_delegate(
    ev: Envelope, payload: AgentSpawned, instructed: AgentInstructions, number: int
) -> DelegateState:
    """Return the delegate of the subtask `number`. `instructed`: the parent agent's instructions."""
    return DelegateState(
        agent=ev.agent,
        name=payload.name,
        parent=payload.parent_agent,
        level=payload.delegate_level,
        call_id=payload.call_id,
        task=text_preview(payload.task),
        tools=payload.tools,
        model=payload.model,
        policy=payload.policy,
        max_tokens=payload.max_tokens,
        max_iterations=payload.max_iterations,
        start_seq=ev.seq,
        number=number,
        instructions=instructed,
    )


def delegate_chain(delegates: Mapping[AgentId, DelegateState], agent: AgentId) -> list[DelegateState]:
    """Return the delegate with this id, its parent, and so on (empty for the main agent)."""
    chain: list[DelegateState] = []
    delegate = delegates.get(agent)
    while delegate is not None and delegate not in chain:
        chain.append(delegate)
        delegate = delegates.get(delegate.parent)
    return chain
