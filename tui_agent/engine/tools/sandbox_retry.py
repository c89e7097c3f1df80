"""How the commands of one call run: confined, with the network where that was allowed, and once more outside the
sandbox where it refused them something and the user allows that. Where files with secrets were kept from them, they run
again in the sandbox, with these files.

Invariant: nothing runs outside, and no file is opened, without a recorded decision about exactly this call.
"""

import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import anyio

from tui_agent.ports.environment import Environment, ExecResult, ExecSpec, OutputSink


@dataclass(frozen=True, slots=True)
class Granted:
    """What of the sandbox is open to the commands of one call, and where the folders led that it was judged in."""

    network: bool = False
    writable: tuple[str, ...] = ()
    judged: Mapping[str, str] = field(default_factory=dict)
    looks: bool = False
    """See `ExecSpec.looks`."""
    shown: tuple[str, ...] = ()
    """See `ExecSpec.shown`."""
    below: tuple[str, ...] = ()
    """Files with secrets that it reads without naming them."""
    sealed: bool = False
    """See `ExecSpec.sealed`."""
    own: tuple[str, ...] = ()
    """See `ExecSpec.own`."""
    read_only: bool = False
    """See `ExecSpec.read_only`."""
    trial: bool = False
    """Its commands are tried first: read-only, without the network and the user's own files, and not for long."""

    def of(self, spec: ExecSpec) -> ExecSpec:
        """The command as it was allowed."""
        return replace(
            spec,
            network=spec.network or self.network,
            writable=self.writable,
            looks=self.looks,
            shown=self.shown,
            sealed=self.sealed,
            own=self.own,
            read_only=self.read_only,
            folder=self.judged.get(spec.cwd, "") if spec.cwd else "",
        )


@dataclass(frozen=True, slots=True)
class Again:
    """How a refused command may run once more: why not, or with these files open to it; without either outside."""

    why_not: str = ""
    opened: tuple[str, ...] = ()


Ask = Callable[[ExecResult], Awaitable[Again]]
"""Given how a command ended that the sandbox refused something."""
AskAfterTrial = Callable[[ExecResult], Awaitable["Granted | str"]]
"""Given how a trial ended that failed: what is open to the command now, or why it may not run."""
_AnswerT = TypeVar("_AnswerT")
TRIAL_S = 20.0
"""Seconds that a trial may take."""
_RULE: Final = "sandbox readable "


def opening_rule(paths: Sequence[str]) -> str:
    """The rule of a session that opens these files to its commands."""
    return _RULE + shlex.join(paths)


def opened_by(granted: Iterable[str]) -> tuple[str, ...]:
    """The files that rules of a session open."""
    return tuple(
        path for rule in granted if rule.startswith(_RULE) for path in shlex.split(rule.removeprefix(_RULE))
    )


class Commands:
    """Runs the commands of one call. `ask` is None where it is not offered to leave the sandbox.

    The time that the user thinks does not count against `limit`, the call's own scope.
    """

    def __init__(
        self,
        env: Environment,
        granted: Granted,
        *,
        ask: Ask | None,
        ask_after_trial: AskAfterTrial | None = None,
        limit: anyio.CancelScope | None = None,
    ) -> None:
        self._env = env
        self._granted = granted
        self._ask = ask
        self._ask_after_trial = ask_after_trial
        self._limit = limit

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """As an environment's; a refused command's `blocked` also says why it was not run outside."""
        if self._granted.trial:
            result = await self._env.exec(_trial_of(self._granted.of(spec)), on_output)
            if result.ended == "exited" and result.exit_code == 0 and not result.blocked:
                return result
            decided = await self._while_asking(self._ask_after_trial, result)
            if isinstance(decided, str):
                return replace(result, blocked=decided)
            self._granted = decided
        spec = self._granted.of(spec)
        result = await self._env.exec(spec, on_output)
        if spec.looks and self._env.sandbox.kind:
            result = replace(result, unread=self._granted.below)
        while result.blocked and self._ask is not None:
            again = await self._while_asking(self._ask, result)
            if again.why_not:
                return replace(result, blocked=f"{result.blocked} {again.why_not}")
            if not again.opened:
                return await self._env.exec(replace(spec, outside=True), on_output)
            spec = replace(spec, shown=(*spec.shown, *again.opened))
            result = await self._env.exec(spec, on_output)
        return result

    async def _while_asking(
        self, ask: Callable[[ExecResult], Awaitable[_AnswerT]] | None, refused: ExecResult
    ) -> _AnswerT:
        """Ask, and stop the call's clock meanwhile."""
        assert ask is not None
        limit = self._limit
        if limit is None:
            return await ask(refused)
        left = limit.deadline - anyio.current_time()
        limit.deadline = float("inf")
        try:
            return await ask(refused)
        finally:
            limit.deadline = anyio.current_time() + left


def _trial_of(spec: ExecSpec) -> ExecSpec:
    """The same command with nothing open to it."""
    return replace(
        spec,
        network=False,
        writable=(),
        shown=(),
        looks=True,
        read_only=True,
        hides_home=True,
        timeout=min(TRIAL_S, spec.timeout or TRIAL_S),
    )
