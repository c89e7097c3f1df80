"""Statistics of pass rates: confidence intervals, McNemar's test, and the correction for several comparisons.

Invariant: the p-values are exact.
"""

from collections.abc import Sequence
from math import comb, sqrt
from statistics import NormalDist

SIGNIFICANCE_LEVEL = 0.05
CONFIDENCE_Z = NormalDist().inv_cdf(1 - SIGNIFICANCE_LEVEL / 2)
MIN_DISCORDANT_PAIRS = 6
"""Minimum number of pairs with different results for a significant difference. With 5, p cannot be below 0.0625."""


def format_p(p_value: float) -> str:
    """Format a p-value: `= 0.031`, `< 0.001`."""
    return "< 0.001" if p_value < 0.001 else f"= {p_value:.3f}"


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
