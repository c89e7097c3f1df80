"""Compares the arms (configurations) of a run, several runs, or a run with a stored baseline.

Results are paired by case and repetition.

Invariant: a comparison without a significant result is never reported as equality. The p-values are exact.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb, sqrt
from statistics import NormalDist
from typing import TypeAlias

from pydantic import computed_field

from tui_agent.errors import ConfigError
from tui_agent.evals.runs.run_results import ArmResults, RunResults
from tui_agent.protocol.base import FrozenModel
from tui_agent.protocol.unicode_text import format_count

Verdicts: TypeAlias = Mapping[tuple[str, int], bool]
"""Maps (case, repetition) to True if this run of the case passed."""
SIGNIFICANCE_LEVEL = 0.05
CONFIDENCE_Z = NormalDist().inv_cdf(1 - SIGNIFICANCE_LEVEL / 2)
MIN_DISCORDANT_PAIRS = 6
"""Minimum number of pairs with different results for a significant difference. With 5, p cannot be below 0.0625."""


class Comparison(FrozenModel):
    """The paired comparison of two arms. A pair is the same case and repetition under both arms.

    - `p_adjusted`: p-value after adjustment for several comparisons.
    - `adjusted_for`: number of comparisons that the adjustment counts. It leaves out comparisons that can never be
      significant, because the arms differ in too few pairs.
    """

    first: str
    second: str
    pairs: int
    only_first: int
    only_second: int
    p_value: float
    p_adjusted: float
    adjusted_for: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def sentence(self) -> str:
        """The result as a sentence for the report."""
        title = f"{self.first} and {self.second}"
        discordant = self.only_first + self.only_second
        if not self.pairs:
            return f"{title}: nothing to compare, because the arms have no case in common."
        if discordant < MIN_DISCORDANT_PAIRS:
            return (
                f"{title}: no difference shown. {discordant} of {format_count(self.pairs, 'pair')} differ in their "
                f"result; at least {MIN_DISCORDANT_PAIRS} differing pairs are needed to show a difference."
            )
        adjusted = f", adjusted for {self.adjusted_for} comparisons" if self.adjusted_for > 1 else ""
        figures = f"p {format_p(self.p_adjusted)}{adjusted}"
        if self.p_adjusted >= SIGNIFICANCE_LEVEL:
            return f"{title}: no difference shown ({figures}). {self.pairs} pairs may be too few to show one."
        counts = [(self.only_first, self.first), (self.only_second, self.second)]
        (fewer, worse), (more, better) = sorted(counts)
        return (
            f"{better} passes more often than {worse} ({figures}): {more} of {self.pairs} pairs passed only with "
            f"{better}, {fewer} only with {worse}."
        )


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


def compare_arms(runs: Sequence[RunResults]) -> tuple[Comparison, ...]:
    """Compare the first arm of each run with the run's other arms, and arms of the same name between runs.

    If two runs have only one arm each, these arms are compared even if their names differ.
    """
    # Not all pairs of arms: each further comparison makes the adjusted p-values larger.
    pairs = [(run.arms[0], arm) for run in runs for arm in run.arms[1:]]
    for first, second in combinations(runs, 2):
        pairs += _matching_arms(first, second)
    return _compare(
        [(first.label, first.verdicts(), second.label, second.verdicts()) for first, second in pairs]
    )


def _matching_arms(first: RunResults, second: RunResults) -> Iterator[tuple[ArmResults, ArmResults]]:
    if len(first.arms) == len(second.arms) == 1:
        yield first.arms[0], second.arms[0]
        return
    by_name = {arm.name: arm for arm in second.arms}
    yield from ((arm, by_name[arm.name]) for arm in first.arms if arm.name in by_name)


def _compare(sides: Sequence[tuple[str, Verdicts, str, Verdicts]]) -> tuple[Comparison, ...]:
    counts = []
    for _, first, _, second in sides:
        both = [(first[key], second[key]) for key in first if key in second]
        counts.append((len(both), both.count((True, False)), both.count((False, True))))
    p_values = [mcnemar_p_value(only_first, only_second) for _, only_first, only_second in counts]
    # A comparison with too few discordant pairs is not counted: it can never be significant, so it cannot be a false
    # claim.
    testable = [
        index for index, (_, *discordant) in enumerate(counts) if sum(discordant) >= MIN_DISCORDANT_PAIRS
    ]
    adjusted = dict(zip(testable, adjust_p_values([p_values[index] for index in testable]), strict=True))
    return tuple(
        Comparison(
            first=sides[index][0],
            second=sides[index][2],
            pairs=pairs,
            only_first=only_first,
            only_second=only_second,
            p_value=p_values[index],
            p_adjusted=adjusted.get(index, p_values[index]),
            adjusted_for=len(testable),
        )
        for index, (pairs, only_first, only_second) in enumerate(counts)
    )


def format_p(p_value: float) -> str:
    """Format a p-value: `= 0.031`, `< 0.001`."""
    return "< 0.001" if p_value < 0.001 else f"= {p_value:.3f}"


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

    If both have only one arm, these arms are compared even if their names differ.

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
    comparisons = _compare(sides)
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


def wilson_interval(successes: int, total: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a rate by Wilson's score method. `total` must not be 0.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927.
    """
    squared = CONFIDENCE_Z**2
    rate = successes / total
    centre = rate + squared / (2 * total)
    half_width = CONFIDENCE_Z * sqrt(rate * (1 - rate) / total + squared / (4 * total**2))
    scale = 1 + squared / total
    # At the ends the bounds are exactly 0 and 1; computed, they would have a rounding error.
    low = 0.0 if successes == 0 else (centre - half_width) / scale
    high = 1.0 if successes == total else (centre + half_width) / scale
    return low, high


def mcnemar_p_value(only_first: int, only_second: int) -> float:
    """Return the two-sided p-value of McNemar's exact test.

    `only_first`, `only_second`: numbers of pairs in which only the first or only the second run succeeded.
    """
    pairs = only_first + only_second
    tail = sum(comb(pairs, count) for count in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << pairs))


def adjust_p_values(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for the number of comparisons, by the method of Holm (1979)."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted
