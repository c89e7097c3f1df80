"""A tool call with the facts for the decision about it, such as the files it deletes that `/undo` can restore.

Invariant: the newest checkpoint has the current content of each of these files.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import field

from tui_agent.engine.checkpoints.checkpoint_recorder import CheckpointRecorder
from tui_agent.engine.components import EngineParts
from tui_agent.engine.hooks import NO_VERDICT, HookVerdict
from tui_agent.engine.tools.registry import CheckedCall
from tui_agent.errors import CheckpointError
from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.decision.profiles import PROFILES
from tui_agent.ports.checkpoint import Checkpoints
from tui_agent.ports.environment import Environment, ExecResult, WorkspaceScan
from tui_agent.ports.policy import Decision, Policy
from tui_agent.protocol.effects import Effect


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


class RestorableFiles:
    """Finds the files that a call's commands delete and that the session can restore."""

    def __init__(self, parts: EngineParts, checkpointing: CheckpointRecorder) -> None:
        self._parts = parts
        self._checkpointing = checkpointing

    async def find(self, checked: CheckedCall) -> frozenset[str]:
        """Return the absolute paths of the files that the call deletes and `/undo` can restore."""
        settings = self._parts.recorder.state_of(checked.agent).settings
        profile = PROFILES[settings.policy if settings else "ask"]
        if profile.writes_inside == "deny" or profile.deletes_inside == "allow":
            return frozenset()
        root = self._parts.env.resolve("")
        inside = find_named_deletions(self._parts.policy, self._parts.env, checked.effects)
        store = self._checkpointing.store
        if not inside or store is None:
            return frozenset()
        try:
            await self._checkpointing.begin()
            changed = (await store.find_changes([path.removeprefix(f"{root}/") for path in inside])).paths
        except CheckpointError as fault:
            self._checkpointing.report_fault(fault)
            return frozenset()
        unchanged = [path for path in inside if path.removeprefix(f"{root}/") not in changed]
        return frozenset([path for path in unchanged if await _holds(store, path.removeprefix(f"{root}/"))])


def find_named_deletions(policy: Policy, env: Environment, effects: Sequence[Effect]) -> list[str]:
    """Return the absolute paths of workspace files that a call's commands delete by name. Paths with links are left
    out."""
    root = env.resolve("")
    deleted = [posixpath.normpath(f"{root}/{path}") for path in policy.deleted_files(effects)]
    resolved = env.resolve_all(deleted)
    return [path for path in resolved if resolved[path] == path and path.startswith(f"{root}/")]


async def _holds(store: Checkpoints, path: str) -> bool:
    try:
        await store.read_file(store.head, path)
    except CheckpointError:  # missing, or it could not be restored
        return False
    return True
