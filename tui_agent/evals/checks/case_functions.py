"""Loads and calls the functions that a case names: a plugin's oracle or verifier, or the tests of an environment.

Invariant: the functions are loaded before the agent starts, so the agent cannot change them.
"""

from functools import partial
from pathlib import Path

import anyio

from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import Case, VerifierSpec
from tui_agent.evals.checks.tests_and_verifier import check_reward
from tui_agent.evals.environments.environment_file import EvalEnvironment, load_environment
from tui_agent.evals.environments.environment_tests import EnvironmentSession
from tui_agent.evals.environments.timed_call import call_in_thread
from tui_agent.fast_dataclass import dataclass
from tui_agent.plugin_host.registered_objects import OfferedFactory
from tui_agent.ports.eval_functions import Oracle, Verdict, Verifier
from tui_agent.protocol.events.eval import VerifierFinished
from tui_agent.protocol.unicode_text import limit_text
from tui_agent.store.log_reader import read_records
from tui_agent.units import format_time_limit
from tui_agent.wiring.plugins import plugin_host
from tui_agent.wiring.startup_context import StartupContext

MAX_OUTPUT_CHARS = 200_000
"""Maximum characters of a verifier's output that the session stores."""


@dataclass(frozen=True, slots=True)
class CaseFunctions:
    """The functions that a case names. A field is None if the case names no function for it."""

    verifier: OfferedFactory[Verifier] | None = None
    oracle: Oracle | None = None
    environment: EvalEnvironment | None = None


def load_case_functions(base: StartupContext, case: Case) -> CaseFunctions:
    """Return the functions that the case names.

    Raise `ConfigError` if a plugin's function is missing, or if the environment cannot be loaded.
    """
    verifier = case.verifier.plugin if case.verifier is not None else ""
    file = case.verifier.environment if case.verifier is not None else ""
    environment = load_environment(case.folder / file) if file else None
    if not (verifier or case.oracle_plugin):
        return CaseFunctions(environment=environment)
    loaded = plugin_host(base).load()
    verifiers = {offered.name: offered for offered in loaded.verifiers}
    oracles = {offered.name: offered.make for offered in loaded.oracles}
    functions = (("verifier", verifier, tuple(verifiers)), ("oracle", case.oracle_plugin, tuple(oracles)))
    for kind, name, loaded_names in functions:
        if name and name not in loaded_names:
            failures = "; ".join(f"{event.plugin}: {event.message}" for event in loaded.failed)
            raise ConfigError(
                f"{case.id}: no plugin has the {kind} {name!r}.",
                hint=failures or "Name the plugin's folder with --plugin-dir DIR.",
            )
    return CaseFunctions(verifiers.get(verifier), oracles.get(case.oracle_plugin), environment)


async def run_plugin_verifier(
    spec: VerifierSpec, offered: OfferedFactory[Verifier], workspace: Path, session: Path
) -> VerifierFinished:
    """Call a plugin's verifier with a copy of the workspace and the events of a session. `session`: the session's
    folder."""
    answer: object = None

    async def verify() -> None:
        nonlocal answer
        answer = await offered.make(workspace, read_records(session))

    label = f"the verifier of the plugin {offered.owner}"
    fault = await call_in_thread(label, verify, spec.timeout_seconds)
    if not fault and not isinstance(answer, Verdict):
        fault = f"{label} returned {type(answer).__name__}, not a Verdict"
    verdict = answer if isinstance(answer, Verdict) else Verdict(0.0)
    if not fault and (reason := check_reward(verdict.reward)):
        fault = f"{label} {reason}"
    reward = 0.0 if fault else float(verdict.reward)
    output = limit_text(str(verdict.output), MAX_OUTPUT_CHARS)
    return VerifierFinished(verifier=spec.plugin, reward=reward, output=output, fault=fault)


async def run_environment_verifier(spec: VerifierSpec, session: EnvironmentSession) -> VerifierFinished:
    """Run all tests of an environment; the reward is the share that passed."""
    with anyio.move_on_after(spec.timeout_seconds):
        report = await session.test()
        reward = report.passed / report.total
        return VerifierFinished(
            verifier=spec.environment, reward=reward, output=limit_text(report.summary, MAX_OUTPUT_CHARS)
        )
    fault = f"was stopped after {format_time_limit(spec.timeout_seconds)}"
    return VerifierFinished(verifier=spec.environment, reward=0.0, output="", fault=fault)


async def run_plugin_oracle(case: Case, function: Oracle, workspace: Path) -> str:
    """Let a plugin's oracle solve the case in the workspace. Return an error text, or an empty text."""
    return await call_in_thread(
        f"the oracle {case.oracle_plugin}", partial(function, workspace), case.test_timeout_seconds
    )
