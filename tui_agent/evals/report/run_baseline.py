"""The stored baseline of an evaluation run, and the comparison of a later run with it."""

from tui_agent.errors import ConfigError
from tui_agent.evals.report.arm_comparison import Comparison, Verdicts, compare_verdicts
from tui_agent.evals.runs.results_by_arm import RunResults
from tui_agent.protocol.frozen_model import FrozenModel


class BaselineCell(FrozenModel):
    """The verdict of one cell (one run of a case under one arm) in a baseline."""

    case: str
    arm: str
    repetition: int
    passed: bool


class Baseline(FrozenModel):
    """The verdicts of a run. Cells whose model provider failed are left out."""

    suite: str
    cells: tuple[BaselineCell, ...]


class ChangedCase(FrozenModel):
    """A case with a different verdict in the baseline; `before` and `now` count passed repetitions, such as `3/3`."""

    case: str
    arm: str
    before: str
    now: str


class BaselineResult(FrozenModel):
    """The result of comparing a run with a baseline. A case passes if all its repetitions passed.

    - `regressions`: cases that passed only in the baseline.
    - `fixed`: cases that passed only in the run.
    - `not_compared`: cases of the baseline without a comparable result in the run.
    """

    regressions: tuple[ChangedCase, ...]
    fixed: tuple[ChangedCase, ...]
    not_compared: tuple[str, ...]
    comparisons: tuple[Comparison, ...]


def make_baseline(run: RunResults) -> Baseline:
    """Return the verdicts of a run as a baseline for later runs."""
    return Baseline(
        suite=run.suite,
        cells=tuple(
            BaselineCell(case=case, arm=arm.name, repetition=repetition, passed=passed)
            for arm in run.arms
            for (case, repetition), passed in arm.verdicts().items()
        ),
    )


def compare_with_baseline(baseline: Baseline, run: RunResults) -> BaselineResult:
    """Compare each arm of a run with the baseline's arm of the same name.

    If the run and the baseline have one arm each, these arms are compared even if their names differ.

    Raise `ConfigError` if the run and the baseline have no case in common.
    """
    before: dict[str, dict[tuple[str, int], bool]] = {}
    for cell in baseline.cells:
        before.setdefault(cell.arm, {})[cell.case, cell.repetition] = cell.passed
    if len(before) == len(run.arms) == 1:
        before = {run.arms[0].name: next(iter(before.values()))}
    now = {arm.name: arm.verdicts() for arm in run.arms}
    regressions: list[ChangedCase] = []
    fixed: list[ChangedCase] = []
    not_compared = []
    for arm, verdicts in before.items():
        for case in dict.fromkeys(case for case, _ in verdicts):
            old, new = _case_verdicts(verdicts, case), _case_verdicts(now.get(arm, {}), case)
            if not new:
                not_compared.append(f"{case} ({arm})")
            elif all(old) != all(new):
                change = ChangedCase(
                    case=case, arm=arm, before=f"{sum(old)}/{len(old)}", now=f"{sum(new)}/{len(new)}"
                )
                (regressions if all(old) else fixed).append(change)
    sides = [(f"{arm} (baseline)", before[arm], arm, now[arm]) for arm in before if arm in now]
    comparisons = compare_verdicts(sides)
    if not any(comparison.pairs for comparison in comparisons):
        raise ConfigError(
            f"The baseline and {run.path} have no case that both ran with the same configuration (arm).",
            hint=f"Arms of the baseline: {', '.join(before) or '(none)'}; of the run: {', '.join(now)}.",
        )
    return BaselineResult(
        regressions=tuple(regressions),
        fixed=tuple(fixed),
        not_compared=tuple(not_compared),
        comparisons=comparisons,
    )


def _case_verdicts(verdicts: Verdicts, case: str) -> list[bool]:
    return [passed for (name, _), passed in verdicts.items() if name == case]
