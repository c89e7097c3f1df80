"""A tool call, and the facts for the decision about it."""

from dataclasses import field

from tui_agent.engine.hooks import NO_VERDICT, HookVerdict
from tui_agent.engine.tools.registry import CheckedCall
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import ExecResult, WorkspaceScan
from tui_agent.ports.policy import Decision


@dataclass(frozen=True, slots=True)
class JudgedCall(CheckedCall):
    """A tool call, and the facts for the decision about it.

    - `restorable`: files that the call deletes by name and that `/undo` can restore.
    - `tried`: result of running the call's command in the sandbox on trial, or None.
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
        """Create an instance from a checked call. Each other argument sets the field of the same name."""
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
        """Return True if the call's command can be tried in the sandbox instead of asking the user first."""
        return decision.can_try_in_sandbox and self.tried is None and self.hook_verdict.decision != "ask"
