"""L4: how the commands of one call run: confined, with the network where that was allowed, and once more outside the
sandbox where it refused them something and the user allows that.

Invariant: nothing runs outside without a recorded decision about exactly this call.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

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

    def of(self, spec: ExecSpec) -> ExecSpec:
        """The command as it was allowed."""
        return replace(
            spec,
            network=spec.network or self.network,
            writable=self.writable,
            looks=self.looks,
            shown=self.shown,
            folder=self.judged.get(spec.cwd, "") if spec.cwd else "",
        )


Ask = Callable[[str], Awaitable[str]]
"""Given what the sandbox refused: why it may not run outside either; empty where it may."""


class Commands:
    """Runs the commands of one call. `ask` is None where it is not offered to leave the sandbox.

    The time that the user thinks does not count against `limit`, the call's own scope.
    """

    def __init__(
        self, env: Environment, granted: Granted, *, ask: Ask | None, limit: anyio.CancelScope | None = None
    ) -> None:
        self._env = env
        self._granted = granted
        self._ask = ask
        self._limit = limit

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """As an environment's; a refused command's `blocked` also says why it was not run outside."""
        spec = self._granted.of(spec)
        result = await self._env.exec(spec, on_output)
        if spec.looks and self._env.sandbox.kind:
            result = replace(result, unread=self._granted.below)
        if not result.blocked or self._ask is None:
            return result
        why_not = await self._asked(self._ask, result.blocked)
        if not why_not:
            return await self._env.exec(replace(spec, outside=True), on_output)
        return replace(result, blocked=f"{result.blocked} {why_not}")

    async def _asked(self, ask: Ask, refused: str) -> str:
        limit = self._limit
        if limit is None:
            return await ask(refused)
        left = limit.deadline - anyio.current_time()
        limit.deadline = float("inf")
        try:
            return await ask(refused)
        finally:
            limit.deadline = anyio.current_time() + left
