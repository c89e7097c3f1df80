"""Confidence intervals and the paired test, against published values and values computed by hand."""

import pytest

from tui_agent.evals.report.significance import (
    MIN_DISCORDANT_PAIRS,
    SIGNIFICANCE_LEVEL,
    adjust_p_values,
    mcnemar_p_value,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("successes", "total", "interval"),
    [
        (81, 263, (0.2553, 0.3662)),  # Newcombe 1998, table I: the score method without continuity correction
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
        (20, 20, (0.8389, 1.0)),
        (1, 1, (0.2065, 1.0)),
    ],
)
def test_the_interval_of_a_rate_is_wilsons(successes: int, total: int, interval: tuple[float, float]) -> None:
    low, high = wilson_interval(successes, total)
    assert (round(low, 4), round(high, 4)) == interval


@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"),
    [
        (0, 0, 1.0),
        (5, 0, 0.0625),
        (0, 6, 0.03125),
        (3, 3, 1.0),
        (1, 7, 2 * (1 + 8) / 256),
        (12, 5, 2 * (1 + 17 + 136 + 680 + 2380 + 6188) / 2**17),
        (1000, 0, 2.0**-999),
    ],
)
def test_the_paired_test_is_exact(only_first: int, only_second: int, p_value: float) -> None:
    assert mcnemar_p_value(only_first, only_second) == p_value


def test_six_discordant_pairs_are_the_fewest_that_can_show_a_difference() -> None:
    assert mcnemar_p_value(0, MIN_DISCORDANT_PAIRS) < SIGNIFICANCE_LEVEL
    assert mcnemar_p_value(0, MIN_DISCORDANT_PAIRS - 1) >= SIGNIFICANCE_LEVEL


def test_several_comparisons_raise_their_p_values() -> None:
    assert adjust_p_values([0.04]) == [0.04]
    assert adjust_p_values([0.01, 0.04, 0.03, 0.005]) == [0.03, 0.06, 0.06, 0.02]
    assert adjust_p_values([0.5, 0.9]) == [1.0, 1.0]
    assert adjust_p_values([]) == []
