"""Functions of plugins that a case names: its oracle and its verifier.

Invariant: the functions are loaded before the agent starts, so the agent cannot change them; the error of one that
hangs or fails names it.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from tui_agent.engine.plugin_guard import guard_plugin
from tui_agent.errors import ConfigError, PluginError, TuiAgentError
from tui_agent.evals.case import Case, VerifierSpec
from tui_agent.evals.checks import check_reward
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.verdict import Oracle, Verdict, Verifier
from tui_agent.protocol.events.eval import VerifierFinished
from tui_agent.store.log_reader import read_records
from tui_agent.wiring.plugins import plugin_host
from tui_agent.wiring.startup_context import StartupContext

MAX_FAULT_CHARS = 300
BLOCKED_S = 2.0
"""Seconds after the time limit at which a function that blocks its thread is abandoned."""


@dataclass(frozen=True, slots=True)
class CaseFunctions:
    """The functions of plugins that a case needs."""

    verifier: Verifier | None = None
    oracle: Oracle | None = None


def load_case_functions(base: StartupContext, case: Case) -> CaseFunctions:
    """Return the functions that the case names. Raises `ConfigError` if no plugin has a function of that name."""
    verifier = case.verifier.plugin if case.verifier is not None else ""
    if not (verifier or case.oracle_plugin):
        return CaseFunctions()
    loaded = plugin_host(base).load()
    verifiers = {offered.name: offered.make for offered in loaded.verifiers}
    oracles = {offered.name: offered.make for offered in loaded.oracles}
    wanted = (("verifier", verifier, tuple(verifiers)), ("oracle", case.oracle_plugin, tuple(oracles)))
    for kind, name, known in wanted:
        if name and name not in known:
            failures = "; ".join(f"{event.plugin}: {event.message}" for event in loaded.failed)
            raise ConfigError(
                f"{case.id}: no plugin has the {kind} {name!r}.",
                hint=failures or "Name the plugin's folder with --plugin-dir DIR.",
            )
    return CaseFunctions(verifiers.get(verifier), oracles.get(case.oracle_plugin))


async def run_plugin_verifier(
    spec: VerifierSpec, function: Verifier, workspace: Path, session: Path
) -> VerifierFinished:
    """Call a plugin's verifier with a copy of the workspace and the session's events; `session` is the session's
    folder.
    """
    answer: object = None

    async def verify() -> None:
        nonlocal answer
        answer = await function(workspace, read_records(session))

    fault = await _call("the verifier", verify, spec.timeout_seconds)
    if not fault and not isinstance(answer, Verdict):
        fault = f"the verifier returned {type(answer).__name__}, not a Verdict"
    verdict = answer if isinstance(answer, Verdict) else Verdict(0.0)
    fault = fault or check_reward(verdict.reward)
    reward = 0.0 if fault else verdict.reward
    return VerifierFinished(verifier=spec.plugin, reward=reward, output=str(verdict.output), fault=fault)


async def run_plugin_oracle(case: Case, function: Oracle, workspace: Path) -> str:
    """Let a plugin's oracle solve the case in the workspace; return what went wrong, or an empty text."""
    return await _call(
        f"the oracle {case.oracle_plugin}", partial(function, workspace), case.test_timeout_seconds
    )


async def _call(name: str, function: Callable[[], Awaitable[object]], timeout: float) -> str:
    """Call a plugin's function in a thread, so that the time limit holds even if it blocks. Return what went wrong, or
    an empty text.
    """
    fault = f"{name} was stopped after {timeout:g} s"

    async def call() -> str:
        with anyio.move_on_after(timeout), guard_plugin(name, PluginError):
            await function()
            return ""
        return fault

    with anyio.move_on_after(timeout + BLOCKED_S):
        try:
            return await run_sync(partial(anyio.run, call), abandon_on_cancel=True)
        except TuiAgentError as error:
            return error.message[:MAX_FAULT_CHARS]
    return fault
