"""What is old is packed: every view is the same, whenever it is asked for and whatever changes afterwards."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden.make import LOGS
from tests.stubs.examples import example_count
from tests.stubs.golden import golden
from tui_agent.folds.projection import current_branch
from tui_agent.folds.screen_folds import Views
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.trace.span_tree import PackedSpans
from tui_agent.folds.trace.spans import Span
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.ids import MAIN_AGENT


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("keep", [0, 1, 3, 40])
def test_packed_views_equal_plain_ones_at_every_event(name: str, keep: int) -> None:
    packed, plain, chance = Views(keep), Views(), random.Random(keep)
    for record in current_branch(golden(name)):
        packed.apply_on_branch(record)
        plain.apply_on_branch(record)
        if chance.random() < 0.2:
            assert list(packed.transcript.view().entries) == list(plain.transcript.view().entries)
            assert packed.trace.view().spans == plain.trace.view().spans
            assert packed.transcript.drain() == plain.transcript.drain()
    assert list(packed.transcript.view().entries) == list(plain.transcript.view().entries)
    assert packed.trace.view().spans == plain.trace.view().spans
    assert packed.trace.view().roots == plain.trace.view().roots


@pytest.mark.parametrize("name", LOGS)
def test_a_copy_of_packed_views_goes_on_alone(name: str) -> None:
    records = current_branch(golden(name))
    half = len(records) // 2
    first, plain = Views(2), Views()
    for record in records[:half]:
        first.apply_on_branch(record)
    copy = first.copy()
    before = list(first.transcript.view().entries), first.trace.view().spans
    for record in records[half:]:
        copy.apply_on_branch(record)
    for record in records:
        plain.apply_on_branch(record)
    assert list(copy.transcript.view().entries) == list(plain.transcript.view().entries)
    assert copy.trace.view().spans == plain.trace.view().spans
    assert (list(first.transcript.view().entries), first.trace.view().spans) == before


def span(number: int) -> Span:
    return Span(number, "tool", f"name {number}", "done", MAIN_AGENT, 0, 0.5, 1.5, 1.0, None, 3, 0.1, 1, 2)


@settings(max_examples=example_count(200))
@given(
    st.integers(0, 40),
    st.lists(st.tuples(st.sampled_from(["append", "put", "pack", "look"]), st.integers(0, 99))),
)
def test_a_shelf_is_the_list_of_what_was_put_there(keep: int, acts: list[tuple[str, int]]) -> None:
    shelf, model = PackedSpans(keep), list[Span]()
    for number, (act, at) in enumerate(acts):
        if act == "append":
            shelf.append(span(number))
            model.append(span(number))
        elif act == "put" and model:
            shelf.replace(at % len(model), span(number))
            model[at % len(model)] = span(number)
        elif act == "pack" and shelf.needs_packing:
            shelf.pack()
        elif act == "look" and model:
            assert shelf[at % len(model)] == model[at % len(model)]
            assert shelf[-1 - at % len(model)] == model[-1 - at % len(model)]
        still, was = shelf.view(), tuple(model)
        shelf.append(span(number))
        model.append(span(number))
        assert still == was
    assert shelf == model
    assert list(shelf[2:9]) == model[2:9]
    assert list(reversed(shelf)) == model[::-1]


@pytest.mark.parametrize("name", LOGS)
def test_each_fold_is_given_all_that_it_takes(name: str) -> None:
    together, alone = Views(), Views()
    for record in current_branch(golden(name)):
        together.apply_on_branch(record)
        for _, one in alone._folds:
            if isinstance(record, Envelope):
                one.apply(record)
    for (_, one), (_, other) in zip(together._folds, alone._folds, strict=True):
        if not isinstance(one, Trace | Transcript):
            assert one.view() == other.view()
