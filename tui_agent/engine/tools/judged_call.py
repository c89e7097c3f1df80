"""A tool call with the facts for the decision about it, such as the deleted files that `/undo` can restore.

Invariant: the newest checkpoint has the current content of each file that counts as restorable.
"""

import os
import posixpath
from collections.abc import Sequence
from dataclasses import field, replace
from glob import iglob
from itertools import chain, islice

from anyio import to_thread

from tui_agent.engine.checkpoints.checkpoint_recorder import CheckpointRecorder
from tui_agent.engine.components import EngineParts
from tui_agent.engine.hooks import NO_VERDICT, HookVerdict
from tui_agent.engine.tools.registry import CheckedCall
from tui_agent.engine.tools.sandbox_retry import files_opened_by
from tui_agent.engine.tools.tool_access import allowed_tools
from tui_agent.errors import CheckpointError, EnvironmentFault
from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.decision.escalations import GIT
from tui_agent.policy.decision.profiles import PROFILES
from tui_agent.ports.checkpoint import Checkpoints
from tui_agent.ports.environment import (
    Environment,
    ExecResult,
    PrivateTempFinder,
    ProgramFinder,
    WorkspaceScan,
    WorkspaceScanner,
    workspace_sandbox,
)
from tui_agent.ports.policy import Decision, Policy, PolicyFacts
from tui_agent.protocol.effects import Effect
from tui_agent.workspace.local.secret_files import find_public_certificates

_MAX_MATCHES = 1000
"""Maximum number of files that the shell patterns of one call stand for."""


@dataclass(frozen=True, slots=True)
class JudgedCall(CheckedCall):
    """A tool call, and the facts for the decision about it.

    - `restorable`: files that the call deletes by name and that `/undo` can restore.
    - `unrestorable`: files that the call writes or moves by name and that `/undo` cannot restore, relative to the
      workspace.
    - `tried`: result of running the call's command in the sandbox on trial, or None.
    """

    hook_verdict: HookVerdict = NO_VERDICT
    scan: WorkspaceScan = field(default_factory=WorkspaceScan)
    restorable: frozenset[str] = frozenset()
    unrestorable: tuple[str, ...] = ()
    tried: ExecResult | None = None

    @classmethod
    def from_checked(
        cls,
        checked: CheckedCall,
        hook_verdict: HookVerdict = NO_VERDICT,
        scan: WorkspaceScan | None = None,
        restorable: frozenset[str] = frozenset(),
        unrestorable: tuple[str, ...] = (),
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
            unrestorable,
            tried,
        )

    def can_try(self, decision: Decision) -> bool:
        """Return True if the call's command can be tried in the sandbox instead of asking the user first."""
        return decision.can_try_in_sandbox and self.tried is None and self.hook_verdict.decision != "ask"


class RestorableFiles:
    """Finds the files that a call's commands change by name, and that the session can or cannot restore."""

    def __init__(self, parts: EngineParts, checkpointing: CheckpointRecorder) -> None:
        self._parts = parts
        self._checkpointing = checkpointing

    async def find(self, checked: CheckedCall) -> frozenset[str]:
        """Return the absolute paths of the files that the call deletes and `/undo` can restore.

        The result is empty if the policy's decision does not depend on these files.
        """
        settings = self._parts.recorder.state_of(checked.agent).settings
        profile = PROFILES[settings.policy if settings else "ask"]
        if profile.writes_inside == "deny" or profile.deletes_inside == "allow":
            return frozenset()
        inside = find_named_deletions(self._parts.policy, self._parts.env, checked.effects)
        return await self.select(inside)

    async def find_unrestorable(self, checked: CheckedCall) -> tuple[str, ...]:
        """Return the workspace files that the call's commands write or move and `/undo` cannot restore, sorted.

        The checkpoint before the call saves ignored files too if the commands name them, but no large ones. If the
        session takes no checkpoints, the result is empty: the user was told so before the first change.
        """
        root, store, env = self._parts.env.resolve(""), self._checkpointing.store, self._parts.env
        if store is None:
            return ()
        named = await to_thread.run_sync(find_changed_files, self._parts.policy, root, checked.effects)
        resolved = env.resolve_all([posixpath.join(root, path) for path in named])
        inside = {path.removeprefix(f"{root}/") for path in resolved.values() if path.startswith(f"{root}/")}
        existing = [path for path in sorted(inside) if await self._is_file(path)]
        if not existing:
            return ()
        try:
            await self._checkpointing.begin()
            saveable = (await store.find_changes(existing)).paths
        except CheckpointError as fault:
            self._checkpointing.report_fault(fault)
            return ()
        unsaveable = [path for path in existing if path not in saveable]
        return tuple([path for path in unsaveable if not await _holds(store, path)])

    async def find_unrestorable_again(self, case: JudgedCall, refused: ExecResult) -> tuple[str, ...]:
        """Return the names of the files that another run of the call can change and `/undo` cannot restore.

        `refused`: the result of the first run. Another run can also change the secret files that the sandbox hid.
        """
        secrets = refused.changed_secrets
        restorable = await self.select([file.path for file in secrets if file.path[-1] != "/"])
        names = (file.name for file in secrets if file.path not in restorable)
        return tuple(dict.fromkeys((*case.unrestorable, *names)))

    async def _is_file(self, path: str) -> bool:
        try:
            info = await self._parts.env.stat(path)
        except EnvironmentFault:  # the command will fail too
            return False
        return info is not None and info.kind == "file"

    async def select(self, inside: Sequence[str]) -> frozenset[str]:
        """Return those of the workspace files `inside` (absolute paths) that `/undo` can restore."""
        root, store = self._parts.env.resolve(""), self._checkpointing.store
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


def find_changed_files(policy: Policy, root: str, effects: Sequence[Effect]) -> list[str]:
    """Return the files that a call's commands write or move by name or by a shell pattern. Blocks: call it in a thread.

    A name is relative to the workspace `root` or absolute, or begins with `~`. It can be that of a new file.
    """
    patterns = policy.changed_patterns(effects)
    # As in a shell, and unlike with `Path.glob`, `*` does not match hidden files.
    matches = chain.from_iterable(iglob(pattern, root_dir=root) for pattern in patterns)  # noqa: PTH207
    return [*policy.changed_files(effects), *islice(matches, _MAX_MATCHES)]


async def _holds(store: Checkpoints, path: str) -> bool:
    try:
        await store.read_file(store.head, path)
    except CheckpointError:  # missing, or it could not be restored
        return False
    return True


class CallFacts:
    """Finds the facts for the policy's decision about a call."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    def resolve_paths(self, case: JudgedCall) -> dict[str, str]:
        """Map each path that the policy needs for its decision to its real path."""
        paths = self._parts.policy.decision_paths(case.effects, self._parts.recorder.state.granted_rules)
        # In a command's path, expand `~` and `~user` as its shell does. For file tools they are ordinary names.
        expand = os.path.expanduser if case.is_command else str  # an unknown user's home is left unexpanded
        expanded = {path: expand(path) for path in sorted(paths)}
        resolved = self._parts.env.resolve_all(expanded.values())
        return {path: resolved[expanded_path] for path, expanded_path in expanded.items()}

    async def scan_workspace(self, checked: CheckedCall) -> WorkspaceScan:
        """If the call runs a command, scan the workspace for files that change the meaning of commands."""
        env = self._parts.env
        if isinstance(env, WorkspaceScanner) and checked.is_command:
            opened = files_opened_by(self._parts.recorder.state.granted_rules)
            scan = await to_thread.run_sync(env.scan)
            secrets = tuple(file for file in scan.secrets if file.path.rstrip("/") not in opened)
            return replace(scan, secrets=secrets)
        return WorkspaceScan()

    def find(self, case: JudgedCall, judged: dict[str, str], *more: str) -> PolicyFacts:
        """Return the facts about a call.

        - `judged`: the result of `resolve_paths`.
        - `more`: rules to apply in addition to the session's rules.
        """
        state = self._parts.recorder.state_of(case.agent)
        env, policy = self._parts.env, self._parts.policy
        programs, local = policy.started_programs(case.effects), policy.local_programs(case.effects)
        finder = env if isinstance(env, ProgramFinder) else None
        return PolicyFacts(
            workspace=env.root,
            policy=state.settings.policy if state.settings else "ask",
            resolved=judged,
            session_rules=(*state.granted_rules, *more),
            allowed_tools=allowed_tools(self._parts, case.agent),
            interactive=self._parts.interactive or case.hook_verdict.decision in {"allow", "deny"},
            workspace_programs=finder.find_workspace_programs(programs) if finder else frozenset(),
            local_programs=finder.find_files(local) if finder else frozenset(),
            git_is_steered=bool(
                finder and GIT in programs and finder.git_is_steered(policy.git_folders(case.effects))
            ),
            sandboxed=bool(workspace_sandbox(env)),
            writable_folders=env.sandbox.writable_folders,
            private_temp_paths=env.find_private_temp_paths(judged.values())
            if isinstance(env, PrivateTempFinder)
            else frozenset(),
            restorable_files=case.restorable,
            unrestorable_files=frozenset(posixpath.join(env.resolve(""), path) for path in case.unrestorable),
            secrets=case.scan.secrets,
            public_files=find_public_certificates(judged.values()),
            links=case.scan.links,
            option_names=case.scan.option_names,
            odd_names=case.scan.odd_names,
            steering_files=case.scan.steering_files,
            unscanned=case.scan.unscanned,
        )
