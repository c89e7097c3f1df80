"""What is learnt of how a provider counts, and that it is learnt of a log again."""

from tests.stubs.story import MODEL, Story, requested, responded
from tui_agent.folds.context.token_calibration import Calibration
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.ids import RequestId


def counted(request: str, tokens: int, tokenizer: str = "words") -> ContextPacked:
    return ContextPacked(
        request_id=RequestId(request),
        window=10_000,
        total_tokens=tokens,
        total_chars=4 * tokens,
        sections=(),
        counted_tokens=tokens,
        tokenizer=tokenizer,
    )


def told(fold: Calibration, request: str, ours: int, truth: int, agent: str = "main") -> Calibration:
    story = Story()
    for event in (counted(request, ours), requested(request), responded(request, "x", tokens=truth)):
        fold.apply(story(event, agent))
    return fold


def test_a_ratio_is_learnt_for_each_model_and_way_of_counting_and_no_odd_count_spoils_it() -> None:
    fold = told(Calibration(), "r1", 1_000, 1_200)
    assert fold.ratio(MODEL.model, "words") == 1.2
    assert fold.ratio("another", "words") == fold.ratio(MODEL.model, "characters") == 1.0
    told(fold, "r2", 1_000, 1_000_000)
    assert fold.ratio(MODEL.model, "words") < 1.6
    assert told(Calibration(), "r1", 10, 50).ratio(MODEL.model, "words") == 1.0


def test_the_main_agents_ratio_is_learnt_from_its_own_requests_once_it_has_any() -> None:
    fold = told(Calibration(), "r1", 1_000, 500, agent="subtask-1")
    assert Calibration(fold.ratios).ratio(MODEL.model, "words") == 0.5
    told(fold, "r2", 1_000, 1_500)
    told(fold, "r3", 1_000, 500, agent="subtask-1")
    assert Calibration(fold.ratios).ratio(MODEL.model, "words") == 1.5
