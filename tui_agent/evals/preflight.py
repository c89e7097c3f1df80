"""Checks before the first cell of a run: all arms have a usable model, and the cases have the oracle that a run needs.

Invariant: nothing is written and nothing is sent.
"""

import shutil

from tui_agent.config.options import SessionOptions
from tui_agent.config.trust import current_trust_keys
from tui_agent.engine.agent_programs.program_agent import PROGRAMS
from tui_agent.errors import ConfigError
from tui_agent.evals.plan import ORACLE, Arm, Plan, RunFolder
from tui_agent.evals.suites import load_suite
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.protocol.unicode_text import list_first
from tui_agent.wiring.ablation import Ablation
from tui_agent.wiring.models import build_model_factory
from tui_agent.wiring.plugins import agent_factories, missing_program, plugin_host, require_agent
from tui_agent.wiring.settings import build_settings, lacks_model
from tui_agent.wiring.startup_context import StartupContext, load_startup_context

MAX_NAMED_CASES = 5
"""Maximum number of cases that the error about missing oracles names."""


def require_runnable(plan: Plan, run: RunFolder, *, is_local: bool) -> None:
    """Raise `ConfigError` if an unfinished cell has no usable model, has no oracle, or turns off an unknown feature.

    The models of cells that run on other machines are not checked, because those machines have their own configuration.
    """
    cells = run.unfinished_cells(plan)
    wanted = {cell.arm for cell in cells}
    arms = [arm for arm in plan.arms if arm.name in wanted]
    if any(arm.model == ORACLE for arm in arms):
        _require_oracles(plan, {cell.case for cell in cells})
    for arm in arms:
        Ablation(arm.without)
    for arm in arms if is_local else ():
        _require_usable_model(plan, run, arm)


def require_model(base: StartupContext) -> None:
    """Raise `ConfigError` if neither the run nor the configuration names a model."""
    if lacks_model(base.config):
        raise ConfigError(
            "No model is set.",
            hint="Add -m NAME (see: tui-agent models list), or -m oracle to check the cases.",
        )


def _require_usable_model(plan: Plan, run: RunFolder, arm: Arm) -> None:
    if arm.model == ORACLE:
        if arm.agent:
            raise ConfigError(
                "The oracle plays known-good answers, without an agent.", hint="Remove --agent."
            )
        return
    options = SessionOptions(
        cwd=run.path,
        client="eval",
        agent=arm.agent or None,
        model=arm.model or None,
        environment=plan.environment,
        effort=arm.effort,
        data_dir=run.data,
        plugin_dirs=plan.plugin_dirs,
        trusted_once=current_trust_keys(run.path),
    )
    base = load_startup_context(options)
    loaded = plugin_host(base).load()
    require_agent(base.config.agent, agent_factories(loaded))
    require_model(base)
    _require_program(base)
    build_settings(base, build_model_factory(base, loaded))


def _require_program(base: StartupContext) -> None:
    """Raise `ConfigError` if the agent is a program that would run on this machine but is not installed here.

    In another environment, the program is looked for when each cell starts.
    """
    agent = base.config.agent
    is_here = agent in PROGRAMS and base.config.environment == LOCAL_ENVIRONMENT
    if is_here and shutil.which(PROGRAMS[agent]({}).program) is None:
        raise missing_program(agent, LOCAL_ENVIRONMENT)


def _require_oracles(plan: Plan, wanted: set[str]) -> None:
    cases = load_suite(plan.suite, plan.here).cases
    lacking = [case.id for case in cases if case.id in wanted and not case.has_oracle]
    if lacking:
        raise ConfigError(
            f"These cases have no oracle: {list_first(lacking, MAX_NAMED_CASES)}.",
            hint="Add [[oracle]] to each case, or choose another model.",
        )
