"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent import units


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 ms"),
        (0.009, "9 ms"),
        (0.0994, "99 ms"),
        (0.0996, "0.1 s"),
        (0.4, "0.4 s"),
        (16.6, "16.6 s"),
        (19.96, "20 s"),
        (51, "51 s"),
        (59.7, "1 min 00 s"),
        (74, "1 min 14 s"),
        (3600, "1 h 00 min"),
        (-1, "0 ms"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert units.format_duration(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0"),
        (96, "96"),
        (999, "999"),
        (1000, "1.0k"),
        (42_200, "42.2k"),
        (99_949, "99.9k"),
        (200_000, "200k"),
        (1_000_000, "1.0M"),
    ],
)
def test_tokens(count: int, said: str) -> None:
    assert units.format_tokens(count) == said


def test_changed_lines_leave_out_what_is_zero() -> None:
    words = [word for word, _ in units.format_line_changes(4, 1, "−")]
    assert words == ["+4", "−1"]
    assert units.format_line_changes(15, 0, "−") == (("+15", "success"),)
    assert units.format_line_changes(0, 3, "-") == (("-3", "error"),)
    assert units.format_line_changes(0, 0, "−") == ()
    described = [units.describe_line_changes(*counts) for counts in ((4, 1), (15, 0), (0, 3), (0, 0))]
    assert described == ["+4 −1", "+15", "−3", "no lines"]


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (None, ""),
        (0.0, "$0.000"),
        (0.00004, "<$0.0001"),
        (0.0024, "$0.0024"),
        (0.097, "$0.097"),
        (2.257, "$2.26"),
        (118.0, "$118.00"),
    ],
)
def test_costs(usd: float | None, text: str) -> None:
    assert units.format_cost(usd) == text


def test_a_cost_that_is_not_exact_is_marked() -> None:
    assert units.format_cost(0.0079, "estimated") == "~$0.0079"
    assert units.format_cost(0.442, "partial") == "at least $0.442"
    assert units.format_cost(0.442, "partial", short=True) == "≥ $0.442"
    assert units.format_cost(None, "partial") == ""
    assert units.combine_precision("exact", "partial", "estimated") == "partial"
    assert units.combine_precision("exact", "estimated") == "estimated"
    assert units.combine_precision() == "exact"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (640, "640 B"),
        (999, "999 B"),
        (1_900, "1.9 KB"),
        (9_940, "9.9 KB"),
        (9_960, "10 KB"),
        (999_499, "999 KB"),
        (999_500, "1 MB"),
        (1_500_000, "1.5 MB"),
        (5_000_000, "5 MB"),
        (118_000_000, "118 MB"),
        (1_256_000_000, "1.3 GB"),
        (2_500_000_000_000, "2500 GB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert units.format_bytes(count) == text


def test_times_percentages_and_ages() -> None:
    assert units.format_time(0) == "-" and len(units.format_time(1.7e9)) == 19
    assert (units.format_milliseconds(None), units.format_milliseconds(400)) == ("", "0.4 s")
    assert units.format_percent(0.211) == "21 %"
    ages = [units.format_age(seconds) for seconds in (5, 130, 3 * 3600, 13 * 86_400)]
    assert ages == ["now", "2 min", "3 h", "13 d"]


@given(st.lists(st.integers(min_value=0, max_value=10**9), max_size=12))
def test_shares_are_whole_and_add_up(counts: list[int]) -> None:
    shares = units.percent_shares(counts)
    assert sum(shares) == (100 if sum(counts) else 0)
    total = sum(counts)
    assert all(
        abs(share - count * 100 / total) < 1 for share, count in zip(shares, counts, strict=True) if total
    )


@pytest.mark.parametrize(
    ("counts", "written"),
    [
        ([], []),
        ([300, 45, 200], ["300", "45", "200"]),
        ([1_700, 45, 0, 3_740], ["1.7k", "<0.1k", "0.0k", "3.8k"]),
        ([3_900, 5_200, 1_100, 4_000, 10_200, 17_800], ["3.9k", "5.2k", "1.1k", "4.0k", "10.2k", "17.8k"]),
    ],
)
def test_a_column_of_tokens_adds_up_as_it_is_written(counts: list[int], written: list[str]) -> None:
    assert units.format_token_column(counts) == written


@given(st.lists(st.integers(0, 80_000), min_size=1, max_size=12).filter(lambda counts: sum(counts) >= 1_000))
def test_any_column_of_tokens_adds_up_to_its_total(counts: list[int]) -> None:
    hundreds = [
        0 if one == "<0.1k" else round(float(one[:-1]) * 10) for one in units.format_token_column(counts)
    ]
    assert all(one.endswith("k") for one in units.format_token_column(counts))
    assert sum(hundreds) == units.to_hundreds(sum(counts))
