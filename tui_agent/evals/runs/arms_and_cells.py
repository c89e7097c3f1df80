"""The plan of an evaluation run: its arms and its cells."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.errors import UsageError
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.settings import Budgets, ContextMode, Effort, PolicyName

ORACLE = "oracle"
"""Name of the model that answers with each case's own known-good answers."""

CheckProgram: TypeAlias = Literal["pytest", "ruff", "mypy", "bandit"]
"""Name of a static checker. Its findings in the changed files are counted."""
ABLATIONS: dict[str, tuple[str, ...]] = {
    "full": (),
    "no_repomap": ("section:repo_map",),
    "no_memory": ("section:memory",),
    "no_context_compaction": ("context:compaction",),
    "no_policy_retry": ("policy:retry",),
}
"""Maps an arm of `eval ablate` to the features that it turns off."""


class Arm(FrozenModel):
    """One configuration under which all cases run."""

    name: str
    agent: str = ""
    """Name of the agent; empty for the configured agent."""
    model: str = ""
    effort: Effort | None = None
    without: tuple[str, ...] = ()
    context_mode: ContextMode | None = None


class Cell(FrozenModel):
    """One run of one case under one arm; `repetition` counts from 1."""

    case: str
    arm: str
    repetition: int = 1

    @property
    def name(self) -> str:
        """The cell's name, and its path in the folder `cells`."""
        return f"{self.case}/{self.arm}-{self.repetition}"


class Plan(FrozenModel):
    """All settings of a run, with absolute paths."""

    suite: str
    suite_name: str
    here: Path
    arms: tuple[Arm, ...]
    cases: tuple[str, ...]
    repetitions: int = 1
    budgets: Budgets = Budgets()
    """Limits that replace the limits of the cases."""
    policy: PolicyName | None = None
    test_timeout_seconds: float | None = None
    test_paths: tuple[str, ...] = ()
    """The test paths to check; empty for all test paths of the cases."""
    environment: str | None = None
    """Name of the environment for the agent's commands; None for the configured environment."""
    plugin_dirs: tuple[Path, ...] = ()
    evaluate: Literal["end", "commits"] = "end"
    """Time at which a cell's checks run.

    - `end`: only after the agent has ended.
    - `commits`: also on each checkpoint and after each turn.
    """
    static_checks: tuple[CheckProgram, ...] = ()
    preemptible: bool = False
    """True if the machines can be taken away at any time. Cells that are lost in this way are tried again."""

    @property
    def max_attempts(self) -> int:
        """Maximum number of attempts to run a cell that fails for temporary reasons."""
        return 10 if self.preemptible else 3

    def cells(self) -> Iterator[Cell]:
        """Yield all cells, grouped by case."""
        for case in self.cases:
            for repetition in range(1, self.repetitions + 1):
                for arm in self.arms:
                    yield Cell(case=case, arm=arm.name, repetition=repetition)


def single_arm(model: str, effort: Effort | None, agent: str) -> Arm:
    """Return the only arm of a run with one configuration."""
    return Arm(
        name=_arm_name(agent, model or ("" if agent else "default"), effort),
        agent=agent,
        model=model,
        effort=effort,
    )


def matrix_arms(
    profiles: Sequence[str], efforts: Sequence[Effort], agents: Sequence[str] = ()
) -> tuple[Arm, ...]:
    """Return an arm for each combination of an agent, a profile and an effort."""
    levels: Sequence[Effort | None] = efforts or (None,)
    arms = [
        Arm(name=_arm_name(agent, name, level), agent=agent, model=name, effort=level)
        for agent in agents or ("",)
        for name in profiles or ("",)
        for level in levels
    ]
    return _require_unique_names(arms)


def ablation_arms(model: str, effort: Effort | None, without: Sequence[str]) -> tuple[Arm, ...]:
    """Return the arms of an ablation: `full` and one arm for each name in `without` (empty: the default arms)."""
    chosen = {"full": (), **{f"no_{name}": (name,) for name in without}} if without else ABLATIONS
    return _require_unique_names(
        [
            Arm(name=_to_file_name(name), model=model, effort=effort, without=left_out, context_mode="memory")
            for name, left_out in chosen.items()
        ]
    )


def _arm_name(agent: str, model: str, effort: Effort | None) -> str:
    # A name such as `scripted:/folder/answers.yaml` would make a long arm name; its last part tells scripts apart.
    model = model.rsplit("/", 1)[-1] if ":" in model and "/" in model else model
    base = "-".join(name for name in (agent, model) if name)
    return _to_file_name(f"{base}@{effort}" if effort else base)


def _to_file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9@._-]+", "-", name).strip("-.")[:80]


def _require_unique_names(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    names = [arm.name for arm in arms]
    double = next((name for name in names if names.count(name) > 1), "")
    if double:
        raise UsageError(
            f"Two configurations of this run have the name {double!r}.",
            hint="Name each profile, agent and feature only once.",
        )
    return tuple(arms)
