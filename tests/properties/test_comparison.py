"""A branch compared with itself differs in nothing, and the sides of a comparison can change places."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tests.stubs.golden import golden, golden_blobs
from tui_agent.folds.comparison.compared_branch import Branch
from tui_agent.folds.comparison.fold import compare
from tui_agent.folds.projection import current_branch

LOGS = {name: golden(name) for name in ("night_shift", "streaming", "every_kind", "approval")}
WHICH = st.sampled_from(sorted(LOGS))


def ending(name: str, share: float) -> Branch:
    records = LOGS[name]
    last = records[int(share * (len(records) - 1))].seq
    return Branch(name, current_branch([one for one in records if one.seq <= last]), golden_blobs(name).find)


@settings(max_examples=example_count(60))
@given(WHICH, st.floats(0, 1))
def test_a_branch_does_not_differ_from_itself(name: str, share: float) -> None:
    one = ending(name, share)
    found = compare(one, one)
    assert found.left == found.right
    assert found.differences == ()
    assert found.left.parts == found.left.iterations == found.left.duration_ms == 0
    assert found.fork_point is None or found.fork_point.seq <= one.records[-1].seq


@settings(max_examples=example_count(60))
@given(WHICH, st.floats(0, 1), WHICH, st.floats(0, 1))
def test_the_sides_can_change_places(name: str, share: float, other: str, rest: float) -> None:
    left, right = ending(name, share), ending(other, rest)
    found, turned = compare(left, right), compare(right, left)
    assert (found.left, found.right) == (turned.right, turned.left)
    assert found.fork_point == turned.fork_point
    swapped = [
        replace(one, left=one.right, right=one.left, left_note=one.right_note, right_note=one.left_note)
        for one in turned.differences
    ]
    assert sorted(found.differences, key=lambda one: one.path) == sorted(swapped, key=lambda one: one.path)


@settings(max_examples=example_count(60))
@given(WHICH, st.floats(0, 1), st.floats(0, 1))
def test_figures_before_and_after_the_fork_point_add_up(name: str, share: float, rest: float) -> None:
    early, late = sorted((share, rest))
    whole, start = ending(name, late), ending(name, early)
    after = compare(start, whole).right
    nothing = Branch("other", ())
    all_of_it, before = compare(nothing, whole).right, compare(nothing, start).right
    if set(map(id, start.records)) <= set(map(id, whole.records)):
        assert before.tokens_in + after.tokens_in == all_of_it.tokens_in
        assert before.parts + after.parts == all_of_it.parts
