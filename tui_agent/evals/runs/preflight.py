"""Checks before the first cell of a run: every arm has a usable model, and every case has an oracle if it needs one.

Invariant: nothing is written outside of a temporary folder, and nothing is sent to a model.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from tui_agent.config.project.trust import current_trust_keys
from tui_agent.config.session_options import SessionOptions
from tui_agent.context.skills import GUIDE
from tui_agent.engine.agent_programs.program_agent import PROGRAMS
from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import case_digest
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.checks.case_workspace import create_workspace
from tui_agent.evals.runs.arms_and_cells import ABLATIONS, ORACLE, Arm, Plan
from tui_agent.evals.runs.run_folder import RunFolder
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.protocol.settings import SessionSettings
from tui_agent.protocol.unicode_text import list_first
from tui_agent.wiring.ablation import Ablation
from tui_agent.wiring.models import build_model_factory
from tui_agent.wiring.plugins import agent_factories, missing_program, plugin_host, require_agent
from tui_agent.wiring.session import open_session
from tui_agent.wiring.settings import build_settings, lacks_model
from tui_agent.wiring.startup_context import StartupContext, load_startup_context

MAX_NAMED_CASES = 5
"""Maximum number of cases that a message names."""


def require_runnable(plan: Plan, run: RunFolder, *, is_local: bool) -> list[SessionSettings]:
    """Check that the unfinished cells can run.

    Return the session settings of the arms that ask a model, with the run's cost limit. Arms with an oracle ask no
    model and are left out.

    `is_local`: False if the cells run on other machines, whose models cannot be checked. The result is then empty.

    Raise `ConfigError` if a cell has no usable model or no oracle, or turns off an unknown feature.
    """
    cells = run.unfinished_cells(plan)
    cell_arms = {cell.arm for cell in cells}
    arms = [arm for arm in plan.arms if arm.name in cell_arms]
    if any(arm.model == ORACLE for arm in arms):
        _require_oracles(plan, {cell.case for cell in cells})
    for arm in arms:
        Ablation(arm.without)
    sessions = []
    # A worker has its own configuration and keys, which cannot be read from here.
    for arm in arms if is_local else ():
        if arm.model != ORACLE:
            sessions.append(_require_usable_model(plan, run, arm))
        elif arm.agent:
            raise ConfigError(
                "The oracle replays known-good answers and runs no agent.", hint="Remove --agent."
            )
        # Only names that the user gave can be wrong, and to check them costs the start of a session.
        if arm.without not in ABLATIONS.values():
            _require_known_features(plan, arm)
    return sessions


def find_changed_cases(plan: Plan, run: RunFolder) -> list[str]:
    """Return the ids of the cases that have changed since a stored result."""
    digests: dict[str, set[str]] = {}
    for cell in plan.cells():
        result = run.load_result(cell)
        if result is not None and result.case_digest:
            digests.setdefault(cell.case, set()).add(result.case_digest)
    if not digests:
        return []
    cases = load_suite(plan.suite, plan.here).cases
    return [case.id for case in cases if digests.get(case.id, set()) - {case_digest(case)}]


def require_model(base: StartupContext) -> None:
    """Raise `ConfigError` if neither the run nor the configuration names a model."""
    if lacks_model(base.config):
        raise ConfigError(
            "No model is set.",
            hint="Add -m NAME (see: tui-agent models list), or -m oracle to check the cases.",
        )


def _require_usable_model(plan: Plan, run: RunFolder, arm: Arm) -> SessionSettings:
    options = SessionOptions(
        cwd=run.path,
        client="eval",
        agent=arm.agent or None,
        model=arm.model or None,
        environment=plan.environment,
        effort=arm.effort,
        max_cost_usd=_lowest_cost_limit(plan),
        data_dir=run.data,
        plugin_dirs=plan.plugin_dirs,
        trusted_once=current_trust_keys(run.path),
    )
    base = load_startup_context(options)
    loaded = plugin_host(base).load()
    require_agent(base.config.agent, agent_factories(loaded))
    require_model(base)
    _require_program(base)
    return build_settings(base, build_model_factory(base, loaded))


def _lowest_cost_limit(plan: Plan) -> float | None:
    """Return the run's cost limit in USD or, without one, the lowest limit of its cases. None means no limit."""
    if plan.budgets.max_cost_usd is not None:
        return plan.budgets.max_cost_usd
    cases = load_suite(plan.suite, plan.here).cases
    limits = (case.budgets.max_cost_usd for case in cases if case.id in plan.cases)
    return min((limit for limit in limits if limit is not None), default=None)


def _require_known_features(plan: Plan, arm: Arm) -> None:
    """Raise `ConfigError` if an arm turns off an unknown section, tool, prompt part or skill."""
    with TemporaryDirectory() as folder:
        if any(name.startswith("skill:") for name in arm.without):
            _copy_skills(plan, Path(folder))
        options = SessionOptions(
            cwd=Path(folder),
            client="eval",
            agent="default",
            model="demo",
            environment=LOCAL_ENVIRONMENT,
            without=arm.without,
            context_mode=arm.context_mode,
            data_dir=Path(folder) / "data",
            plugin_dirs=plan.plugin_dirs,
            interactive=False,
            trusted_once=current_trust_keys(Path(folder)),
        )
        anyio.run(_open_and_close, options)


def _copy_skills(plan: Plan, target: Path) -> None:
    """Copy the folder of each skill in the cases' fixtures to the same place in `target`."""
    for case in load_suite(plan.suite, plan.here).cases:
        with TemporaryDirectory() as folder:
            if case.id in plan.cases:
                create_workspace(case, Path(folder, "repo"))
            for guide in Path(folder).glob(f"repo/**/{GUIDE}"):
                place = target / guide.parent.relative_to(Path(folder, "repo"))
                shutil.copytree(guide.parent, place, symlinks=True, dirs_exist_ok=True)


async def _open_and_close(options: SessionOptions) -> None:
    async with open_session(options):
        pass


def _require_program(base: StartupContext) -> None:
    """Raise `ConfigError` if the agent is a local program that is not installed."""
    agent = base.config.agent
    is_here = agent in PROGRAMS and base.config.environment == LOCAL_ENVIRONMENT
    if is_here and shutil.which(PROGRAMS[agent]({}).program) is None:
        raise missing_program(agent, LOCAL_ENVIRONMENT)


def _require_oracles(plan: Plan, case_ids: set[str]) -> None:
    cases = load_suite(plan.suite, plan.here).cases
    lacking = [case.id for case in cases if case.id in case_ids and not case.has_oracle]
    if lacking:
        raise ConfigError(
            f"These cases have no oracle: {list_first(lacking, MAX_NAMED_CASES)}.",
            hint="Add [[oracle]] to each case, or choose another model.",
        )
