"""The configurations (arms) that a run compares: model profiles (`eval matrix`) or ablations (`eval ablate`)."""

import re
from collections.abc import Sequence

from tui_agent.errors import UsageError
from tui_agent.evals.runs.plan import Arm
from tui_agent.protocol.settings import Effort

ABLATIONS: dict[str, tuple[str, ...]] = {
    "full": (),
    "no_repomap": ("section:repo_map",),
    "no_memory": ("section:memory",),
    "no_context_compaction": ("context:compaction",),
    "no_policy_retry": ("policy:retry",),
}
"""Maps an arm of `eval ablate` to the features that it turns off."""


def single_arm(model: str, effort: Effort | None, agent: str = "") -> Arm:
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
    return _require_unique(arms)


def ablation_arms(model: str, effort: Effort | None, without: Sequence[str]) -> tuple[Arm, ...]:
    """Return the arms of an ablation: `full` and one arm for each name in `without` (empty: the default arms)."""
    chosen = {"full": (), **{f"no_{name}": (name,) for name in without}} if without else ABLATIONS
    return _require_unique(
        [
            Arm(name=_to_file_name(name), model=model, effort=effort, without=left_out, context_mode="memory")
            for name, left_out in chosen.items()
        ]
    )


def _arm_name(agent: str, model: str, effort: Effort | None) -> str:
    model = model.rsplit("/", 1)[-1] if ":" in model and "/" in model else model
    base = "-".join(name for name in (agent, model) if name)
    return _to_file_name(f"{base}@{effort}" if effort else base)


def _to_file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9@._-]+", "-", name).strip("-.")[:80]


def _require_unique(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    names = [arm.name for arm in arms]
    double = next((name for name in names if names.count(name) > 1), "")
    if double:
        raise UsageError(
            f"Two configurations of this run have the name {double!r}.",
            hint="Name each profile, agent and feature only once.",
        )
    return tuple(arms)
