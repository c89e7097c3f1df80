"""What providers' refusals teach of a window, and that it is learnt of a log again."""

from hypothesis import given
from hypothesis import strategies as st

from tests.stubs.story import MODEL, Story, requested, responded
from tui_agent.folds.context.window_limits import InferredWindow, InferredWindows
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.ids import RequestId


def asked(fold: InferredWindows, tokens: int, holds: int, told: int = 0, agent: str = "main") -> None:
    """A request of so many tokens to a model that holds so many."""
    story, request = Story(), f"r{tokens}"
    packed = ContextPacked(
        request_id=RequestId(request), window=0, total_tokens=tokens, total_chars=4 * tokens, sections=()
    )
    refused = ModelFailed(request_id=RequestId(request), fault="overflow", message="too long", window=told)
    end = responded(request, "x", tokens=tokens) if tokens <= holds else refused
    for event in (packed, requested(request), end):
        fold.apply(story(event, agent))


def test_nothing_is_learnt_before_something_is_refused() -> None:
    fold = InferredWindows()
    asked(fold, 50_000, 60_000)
    assert fold.effective_window(MODEL) == MODEL.window and fold.window_of(MODEL).tokens == 0


def test_three_quarters_of_a_refusal_count_or_what_was_taken_where_that_is_more() -> None:
    fold = InferredWindows()
    asked(fold, 100_000, 60_000)
    assert fold.window_of(MODEL).tokens == 75_000
    asked(fold, 74_000, 60_000, agent="subtask-1")
    asked(fold, 58_000, 60_000)
    assert fold.window_of(MODEL).tokens == 58_000
    assert 58_000 < fold.window_of(MODEL).last_resort < 74_000


def test_what_the_provider_says_is_the_window_until_it_refuses_what_should_fit() -> None:
    fold = InferredWindows()
    asked(fold, 100_000, 60_000, told=61_000)
    assert (fold.window_of(MODEL).window, fold.window_of(MODEL).tokens) == (61_000, 0)
    asked(fold, 60_500, 60_000, told=61_000)
    assert (fold.window_of(MODEL).window, fold.window_of(MODEL).tokens) == (0, 45_375)


def test_what_is_taken_though_less_was_refused_is_held_as_our_counts_are_off() -> None:
    known = InferredWindow().with_refused(8_632, 0).with_accepted(8_923)
    assert known.tokens == 8_923 < known.refused
    assert known.with_refused(8_900, 0).accepted < 8_900


def test_what_is_kept_is_taken_up_and_another_model_learns_for_itself() -> None:
    fold = InferredWindows()
    asked(fold, 100_000, 60_000)
    again = InferredWindows(fold.known)
    assert again.window_of(MODEL) == fold.window_of(MODEL)
    assert not again.window_of(MODEL.model_copy(update={"model": "another"})).refused
    assert not again.window_of(MODEL.model_copy(update={"base_url": "http://elsewhere"})).refused


@given(st.integers(8_000, 200_000), st.lists(st.integers(1_000, 400_000), max_size=12))
def test_a_request_that_follows_what_was_learnt_is_taken_after_a_few_refusals(
    holds: int, sizes: list[int]
) -> None:
    fold = InferredWindows()
    for size in sizes:
        asked(fold, size, holds)
    refused = 0
    for _ in range(40):
        known = fold.window_of(MODEL)
        if not known.refused:
            break
        refused += known.last_resort > holds
        assert known.accepted <= holds < known.refused and known.tokens <= known.last_resort
        asked(fold, known.last_resort, holds)
    assert refused <= 24 and InferredWindow().last_resort == 0
