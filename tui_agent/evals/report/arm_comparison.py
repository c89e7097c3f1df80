"""Compares the arms (configurations) of one or several runs.

Results are paired by case and repetition.

Invariant: a comparison without a significant result is never reported as equality.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from pydantic import computed_field

from tui_agent.evals.report.significance import (
    MIN_DISCORDANT_PAIRS,
    SIGNIFICANCE_LEVEL,
    adjust_p_values,
    format_p,
    mcnemar_p_value,
)
from tui_agent.evals.runs.results_by_arm import ArmResults, RunResults
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.unicode_text import format_count

Verdicts: TypeAlias = Mapping[tuple[str, int], bool]
"""Maps (case, repetition) to True if this run of the case passed."""


class Comparison(FrozenModel):
    """The paired comparison of two arms. A pair is the same case and repetition under both arms.

    - `p_adjusted`: p-value after adjustment for several comparisons.
    - `adjusted_for`: number of comparisons that the adjustment counts. Comparisons that can never be significant,
      because the arms differ in too few pairs, are not counted.
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


def compare_arms(runs: Sequence[RunResults]) -> tuple[Comparison, ...]:
    """Compare the first arm of each run with the run's other arms, and arms of the same name between runs.

    If two runs have only one arm each, these arms are compared even if their names differ.
    """
    # Not all pairs of arms: each further comparison makes the adjusted p-values larger.
    pairs = [(run.arms[0], arm) for run in runs for arm in run.arms[1:]]
    for first, second in combinations(runs, 2):
        pairs += _matching_arms(first, second)
    return compare_verdicts(
        [(first.label, first.verdicts(), second.label, second.verdicts()) for first, second in pairs]
    )


def _matching_arms(first: RunResults, second: RunResults) -> Iterator[tuple[ArmResults, ArmResults]]:
    if len(first.arms) == len(second.arms) == 1:
        yield first.arms[0], second.arms[0]
        return
    by_name = {arm.name: arm for arm in second.arms}
    yield from ((arm, by_name[arm.name]) for arm in first.arms if arm.name in by_name)


def compare_verdicts(sides: Sequence[tuple[str, Verdicts, str, Verdicts]]) -> tuple[Comparison, ...]:
    """Compare pairs of arms. Each item is (first arm's name, first arm's verdicts, second arm's name, second arm's
    verdicts).
    """
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
