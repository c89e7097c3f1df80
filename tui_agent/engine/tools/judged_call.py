"""A tool call, and the facts that the decision about it depends on."""

from dataclasses import field

from tui_agent.engine.hooks import NO_VERDICT, HookVerdict
from tui_agent.engine.tools.registry import CheckedCall
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import ExecResult, WorkspaceScan
from tui_agent.ports.policy import Decision


@dataclass(frozen=True, slots=True)
class JudgedCall(CheckedCall):
    """A tool call, and the facts that the decision about it depends on.

    - `restorable`: files that the call deletes by name and that `/undo` can restore.
    - `tried`: result of the call's trial in the sandbox, or None.
    """

    hook_verdict: HookVerdict = NO_VERDICT
    scan: WorkspaceScan = field(default_factory=WorkspaceScan)
    restorable: frozenset[str] = frozenset()
    tried: ExecResult | None = None

    @classmethod
    def from_checked(
        cls,
        checked: CheckedCall,
        hook_verdict: HookVerdict = NO_VERDICT,
        scan: WorkspaceScan | None = None,
        restorable: frozenset[str] = frozenset(),
        tried: ExecResult | None = None,
    ) -> "JudgedCall":
        """Create a judged call from a checked call and the facts in the remaining arguments."""
        return cls(
            checked.call,
            checked.tool,
            checked.args,
            checked.agent,
            checked.effects,
            hook_verdict,
            scan or WorkspaceScan(),
            restorable,
            tried,
        )

    def can_try(self, decision: Decision) -> bool:
        """Return True if a trial in the sandbox can replace the question to the user."""
        return decision.can_try_in_sandbox and self.tried is None and self.hook_verdict.decision != "ask"
