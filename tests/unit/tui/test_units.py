"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.tui import format as units


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
    assert units.duration(seconds) == said


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
    assert units.tokens(count) == said


def test_changed_lines_leave_out_what_is_zero() -> None:
    words = [word for word, _ in units.changed_lines(4, 1, "−")]
    assert words == ["+4", "−1"]
    assert units.changed_lines(15, 0, "−") == (("+15", "success"),)
    assert units.changed_lines(0, 3, "-") == (("-3", "error"),)
    assert units.changed_lines(0, 0, "−") == ()


def test_money_percent_size_and_age() -> None:
    assert (units.money(0.097), units.money(None), units.money(0.021, digits=2)) == ("$0.097", "", "$0.02")
    assert (units.percent(0.211), units.size(640), units.size(1900), units.size(118 * 1024**2)) == (
        "21 %",
        "640 B",
        "1.9 KB",
        "118 MB",
    )
    assert [units.age(one) for one in (5, 130, 3 * 3600, 13 * 86_400)] == ["now", "2 min", "3 h", "13 d"]


@given(st.lists(st.integers(min_value=0, max_value=10**9), max_size=12))
def test_shares_are_whole_and_add_up(counts: list[int]) -> None:
    shares = units.shares(counts)
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
    assert units.adding_up(counts) == written


@given(st.lists(st.integers(0, 80_000), min_size=1, max_size=12).filter(lambda counts: sum(counts) >= 1_000))
def test_any_column_of_tokens_adds_up_to_its_total(counts: list[int]) -> None:
    tenths = [0 if one == "<0.1k" else round(float(one[:-1]) * 10) for one in units.adding_up(counts)]
    assert all(one.endswith("k") for one in units.adding_up(counts))
    assert sum(tenths) == units.tenths(sum(counts))
