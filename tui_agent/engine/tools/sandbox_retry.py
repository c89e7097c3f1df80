"""Execution of a call's commands in the sandbox, and again with more permissions if the user allows this.

Invariant: a command runs again only after a recorded decision about exactly this call.
"""

import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, TypeVar

import anyio

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.decision.rule_choices import UNCONFINED
from tui_agent.ports.environment import (
    Environment,
    ExecResult,
    ExecSpec,
    OutputSink,
    SecretFile,
    workspace_sandbox,
)
from tui_agent.protocol.events.policy import OPENS_FILES, PermissionChoice, Reach


@dataclass(frozen=True, slots=True)
class SandboxGrant:
    """The permissions of a call's commands in the sandbox."""

    network: bool = False
    writable: tuple[str, ...] = ()
    """Files outside the workspace that the call's commands can write."""
    judged: Mapping[str, str] = field(default_factory=dict)
    """Maps each path of the call to its real path at the time of the decision."""
    show_secrets_as_empty: bool = False
    """True if files with secrets look empty to the call's commands (see `ExecSpec`)."""
    readable_secrets: tuple[str, ...] = ()
    """Files with secrets that the call's commands can read (see `ExecSpec`)."""
    unnamed_secrets: tuple[str, ...] = ()
    """Files with secrets that the call would read without naming them."""
    repository_read_only: bool = False
    """True if the workspace's repository is mounted read-only (see `ExecSpec`)."""
    private_temp_paths: tuple[str, ...] = ()
    """Paths in temporary folders that did not exist when the call was judged (see `ExecSpec`)."""
    read_only: bool = False
    """True if the workspace is mounted read-only (see `ExecSpec`)."""
    unsandboxed: bool = False
    """True if the commands run outside the sandbox."""
    trial: bool = False
    """True if the commands run as a trial: briefly, read-only, and without the network or the user's own files."""

    def apply_to(self, spec: ExecSpec) -> ExecSpec:
        """Return `spec` with these permissions."""
        return replace(
            spec,
            allow_network=spec.allow_network or self.network,
            writable_paths=self.writable,
            show_secrets_as_empty=self.show_secrets_as_empty,
            readable_secrets=self.readable_secrets,
            repository_read_only=self.repository_read_only,
            private_temp_paths=self.private_temp_paths,
            read_only=self.read_only,
            unsandboxed=spec.unsandboxed or self.unsandboxed,
            resolved_cwd=self.judged.get(spec.cwd, "") if spec.cwd else "",
        )

    def limit_program(self, spec: ExecSpec) -> ExecSpec:
        """Return `spec` with these permissions, for a program that keeps running."""
        granted = self.apply_to(spec)
        granted = _trial_spec(granted) if self.trial else granted
        return replace(
            granted,
            read_only=spec.read_only or granted.read_only,
            show_secrets_as_empty=spec.show_secrets_as_empty or granted.show_secrets_as_empty,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a call.

    - `sandbox_grant`: permissions of an allowed call.
    - `for_model`, `summary`: texts about a denial for the model and for the user.
    - `only_reads`: True if the policy has proven that the call changes nothing.
    """

    allowed: bool
    for_model: str = ""
    summary: str = ""
    sandbox_grant: SandboxGrant = field(default_factory=SandboxGrant)
    only_reads: bool = False


@dataclass(frozen=True, slots=True)
class Rerun:
    """The decision about running a command again after the sandbox blocked the command.

    - `denial_reason`: set if the command does not run again.
    - `opened_files`: secret files that the command can read in the sandbox. If empty, the command runs outside the
      sandbox.
    """

    denial_reason: str = ""
    opened_files: tuple[str, ...] = ()


DecideRerun = Callable[[ExecResult], Awaitable[Rerun]]
"""Function that decides if a blocked command runs again. It gets the result of the run that the sandbox blocked."""
DecideAfterTrial = Callable[[ExecResult], Awaitable["SandboxGrant | str"]]
"""Function that returns the permissions for another run after a failed trial, or the reason for a denial."""
_AnswerT = TypeVar("_AnswerT")
TRIAL_TIMEOUT_S = 20.0
"""Time limit for a command's trial in the sandbox, in seconds."""
_OFFERED_REACHES: Final[tuple[Reach, ...]] = ("once", "session", "always")
ONCE_ONLY: Final = tuple(
    PermissionChoice(
        reach=reach,
        rule="",
        offered=reach == "once",
        explanation="" if reach == "once" else UNCONFINED,
    )
    for reach in _OFFERED_REACHES
)
"""The choices offered for a command that leaves the sandbox."""


def opening_rule(paths: Sequence[str]) -> str:
    """Return the session rule that lets commands read these files."""
    return OPENS_FILES + shlex.join(paths)


def describe_access(files: Sequence[SecretFile], together: str = "") -> str:
    """Describe a sandboxed command's access to secret files: "read and change own.key".

    `together`: phrase instead of the files' names, such as "the files".
    """
    names = together or join_names(files)
    writable = [file for file in files if file.is_writable]
    if len(writable) == len(files):
        return f"read and change {names}"
    return f"read {names}, and change {join_names(writable)}" if writable else f"read {names}"


def join_names(files: Sequence[SecretFile]) -> str:
    """Return the names of files, joined by "and"."""
    return " and ".join(file.name.rstrip("/") for file in files)


def opening_choices(files: Sequence[SecretFile], *, always: bool) -> tuple[PermissionChoice, ...]:
    """Return the choices that let commands read these files, in this session or always."""
    rule = opening_rule([file.path.rstrip("/") for file in files])
    permission = f"commands may {describe_access(files, 'the file' if len(files) == 1 else 'the files')}"
    session = PermissionChoice(reach="session", rule=rule, explanation=permission)
    why = "written to your config.toml" if always else "not available: it cannot be saved"
    return session, PermissionChoice(
        reach="always", rule=rule if always else "", offered=always, explanation=why
    )


def files_opened_by(granted: Iterable[str]) -> tuple[str, ...]:
    """Return the secret files that the session's rules `granted` open to commands."""
    return tuple(
        path
        for rule in granted
        if rule.startswith(OPENS_FILES)
        for path in shlex.split(rule.removeprefix(OPENS_FILES))
    )


class CommandRunner:
    """Runs the commands of one call.

    - `ask`: function that decides if a blocked command runs again (None: never).
    - `limit`: cancel scope with the call's time limit. The time while the user is asked does not count.
    """

    def __init__(
        self,
        env: Environment,
        granted: SandboxGrant,
        *,
        ask: DecideRerun | None,
        ask_after_trial: DecideAfterTrial | None = None,
        limit: anyio.CancelScope | None = None,
    ) -> None:
        self._env = env
        self._granted = granted
        self._ask = ask
        self._ask_after_trial = ask_after_trial
        self._limit = limit

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """Run a command.

        If the sandbox blocked the command and a second run is allowed, run it with more permissions.
        """
        if self._granted.trial:
            result = await self._env.exec(_trial_spec(self._granted.apply_to(spec)), on_output)
            # A trial that succeeded needed no more permissions, so it counts as the command's run.
            if result.outcome == "exited" and result.exit_code == 0 and not result.blocked:
                return result
            decision = await self._pause_limit(self._ask_after_trial, result)
            if isinstance(decision, str):
                return replace(result, blocked=decision)
            self._granted = decision
        spec = self._granted.apply_to(spec)
        result = await self._env.exec(spec, on_output)
        # Only a sandbox can make files look empty.
        if spec.show_secrets_as_empty and workspace_sandbox(self._env):
            result = replace(result, emptied_secrets=self._granted.unnamed_secrets)
        # A command that can read one more file may then be blocked at the next one.
        while result.blocked and self._ask is not None:
            rerun = await self._pause_limit(self._ask, result)
            if rerun.denial_reason:
                return replace(result, blocked=f"{result.blocked} {rerun.denial_reason}")
            if not rerun.opened_files:
                return await self._env.exec(replace(spec, unsandboxed=True), on_output)
            spec = replace(spec, readable_secrets=(*spec.readable_secrets, *rerun.opened_files))
            result = await self._env.exec(spec, on_output)
        return result

    async def _pause_limit(
        self, ask: Callable[[ExecResult], Awaitable[_AnswerT]] | None, refused: ExecResult
    ) -> _AnswerT:
        """Call `ask` with the call's time limit paused."""
        assert ask is not None
        limit = self._limit
        if limit is None:
            return await ask(refused)
        remaining = limit.deadline - anyio.current_time()
        limit.deadline = float("inf")
        try:
            return await ask(refused)
        finally:
            limit.deadline = anyio.current_time() + remaining


def trial_message(tried: ExecResult) -> str:
    """Describe a failed trial in the sandbox as a clause for the user."""
    if tried.outcome == "timeout":
        return "it was tried read-only in the sandbox, and did not end in time"
    refused = tried.blocked.rstrip(".")
    status = "its program was not found" if tried.exit_code is None else f"exit status {tried.exit_code}"
    end = refused[:1].lower() + refused[1:] or status
    return f"it was tried read-only in the sandbox, and failed: {end}"


def _trial_spec(spec: ExecSpec) -> ExecSpec:
    return replace(
        spec,
        allow_network=False,
        writable_paths=(),
        readable_secrets=(),
        show_secrets_as_empty=True,
        read_only=True,
        hides_home=True,
        timeout=min(TRIAL_TIMEOUT_S, spec.timeout or TRIAL_TIMEOUT_S),
    )
