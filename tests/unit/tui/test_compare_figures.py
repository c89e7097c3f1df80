"""The rows of a comparison in words, and where they stand."""

import pytest

from tests.stubs.rows import rows
from tui_agent.folds.comparison.compared_branch import Beat, Side
from tui_agent.folds.comparison.fold import LastSharedEvent
from tui_agent.tui.screens.compare.compare_header import columns_for
from tui_agent.tui.screens.compare.figures import (
    build_figures,
    describe_fork_point,
    describe_model,
    describe_tools,
    sums_at,
)

LEFT = Side("ses_a", "main", model="m", effort="high", policy="ask", duration_ms=2_000, cost_usd=0.5)


def cells(left: Side, right: Side, label: str) -> tuple[str, str, str, str]:
    row = next(one for one in build_figures(left, right) if one.label == label)
    return row.left.text, row.left.note, row.right.text, row.right.note


@pytest.mark.parametrize(
    ("ms", "said"), [(2_100, ""), (2_200, "1.1 times"), (6_200, "3.1 times"), (145_000, "72 times")]
)
def test_the_longer_one_says_how_many_times(ms: float, said: str) -> None:
    assert cells(LEFT, Side("ses_b", "fork", duration_ms=ms), "Time")[1::2] == ("", said)


def test_a_cost_that_nobody_knows_is_not_none_at_all() -> None:
    unknown = Side("ses_b", "fork", tokens_in=10)
    assert cells(LEFT, unknown, "Cost") == ("$0.500", "", "not known", "")
    assert cells(LEFT, Side("ses_b", "fork"), "Cost")[2] == "none"
    local = Side("ses_b", "fork", cost_usd=0.0, local=True)
    assert cells(LEFT, local, "Cost")[2:] == ("$0.000", "local model")


def test_what_was_asked_and_denied_is_told_in_words() -> None:
    asked = Side("ses_b", "fork", asked_count=1, denied_count=2)
    assert cells(LEFT, asked, "Asked you") == ("never", "", "1 time, policy denied 2", "")


def test_figures_between_two_beats_are_those_of_the_first() -> None:
    beats = (Beat(500, "model", 1, 0.1, 1, 10, 1), Beat(2_000, "end", 2, 0.5, 2, 20, 2))
    side = Side("ses_a", "main", duration_ms=2_000, cost_usd=0.5, iterations=2, tokens_in=20, timeline=beats)
    sums = [sums_at(side, ms) for ms in (100, 1_900, 5_000)]
    assert [(beat.at_ms, beat.cost_usd, beat.iterations, beat.tokens_in) for beat in sums] == [
        (100, 0.0, 0, 0),
        (1_900, 0.1, 1, 10),
        (2_000, 0.5, 2, 20),
    ]


def test_the_words_of_a_side() -> None:
    assert describe_model(LEFT) == "m high, policy ask"
    assert describe_model(Side("ses_b", "fork", effort="none")) == "no model"
    assert describe_tools(Side("ses_b", "fork", tools={"a": 2, "b": 1})) == "3: a 2, b 1"
    assert "".join(describe_fork_point(LastSharedEvent(3, "go"))) == 'both start at event 3, after "go"'
    assert "".join(describe_fork_point(LastSharedEvent(3))) == "both start at event 3"


@rows("width", range(20, 241))
def test_columns_do_not_overlap_at_any_width(width: int) -> None:
    place = columns_for(width)
    assert place.labels < place.left
    assert place.room(right=False) > 0
    if place.both:
        assert place.left + place.room(right=False) < place.right
        assert place.right + place.room(right=True) <= width - 2
    assert place.labels + place.texts <= (place.second_column or width) - 2
