"""The context meter: the provider's count, sections, prices, the cache and compaction."""

import pytest

from tests.stubs.story import MODEL, compacted, requested, responded
from tests.unit.folds.test_small_folds import told
from tui_agent.folds.context.meter import ContextMeter, next_level, scale_to_total
from tui_agent.protocol.events.context import (
    ContextPacked,
    ContextReduced,
    FragmentRecord,
    Section,
    SectionName,
)
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.parts import Usage


def packed(request: str, *tokens: int, window: int = 1_000) -> ContextPacked:
    names = ("system", "messages", "tool_results")
    return ContextPacked(
        request_id=RequestId(request),
        window=window,
        total_tokens=sum(tokens),
        total_chars=0,
        sections=tuple(
            Section(
                name=name,
                raw_chars=0,
                chars=0,
                tokens=count,
                reduced=name == "tool_results",
                rule="head and tail",
            )  # type: ignore[arg-type]
            for name, count in zip(names, tokens, strict=True)
        ),
    )


def test_the_meter_takes_the_providers_count_and_its_sections_still_add_up() -> None:
    fold = ContextMeter()
    view = told(fold, packed("r1", 100, 100, 101))
    assert (view.used, view.estimated, view.warnings) == (
        301,
        True,
        ("old results: reduced, head and tail",),
    )
    view = told(fold, packed("r1", 100, 100, 101), requested("r1"), responded("r1", "x", tokens=400))
    assert (view.used, view.estimated, view.window) == (410, False, MODEL.window)
    assert sum(section.tokens for section in view.sections) == 410
    assert view.next_cost_usd == (400 + 10 + 40) / 1_000_000


def test_the_newest_answer_counts_before_the_next_request() -> None:
    fold, usage = ContextMeter(), Usage(input_tokens=600, output_tokens=20_000)
    answer = responded("r1", "x").model_copy(update={"usage": usage})
    system_only = packed("r1", 600, 0, 0, window=50_000).model_copy(
        update={"sections": packed("r1", 600, 0, 0).sections[:1]}
    )
    asked = requested("r1").model_copy(update={"model": MODEL.model_copy(update={"window": 50_000})})
    view = told(fold, system_only, asked, answer)
    assert (view.used, view.fraction, view.level, view.estimated) == (20_600, 0.412, "over", False)
    assert {section.name: section.tokens for section in view.sections} == {"system": 600, "answers": 20_000}
    assert view.message_tokens == 20_000
    reduced = ContextReduced(
        call_ids=(), artifacts=(), removed_seqs=(), before_tokens=30_000, after_tokens=29_900
    )
    assert told(fold, reduced).used == 20_500


def test_an_answer_that_was_stopped_counts_before_the_next_request() -> None:
    stopped = ModelFailed(request_id=RequestId("r1"), fault="cancelled", message="", partial="word " * 80)
    view = told(ContextMeter(), packed("r1", 100, 0, 0), requested("r1"), stopped)
    assert (view.used, view.estimated, view.message_tokens) == (200, True, 100)
    view = told(
        ContextMeter(),
        packed("r1", 100, 0, 0),
        requested("r1"),
        stopped.model_copy(update={"fault": "server"}),
    )
    assert view.used == 100


def test_the_sections_that_do_not_change_keep_their_tokens_when_the_provider_counts_otherwise() -> None:
    fold = ContextMeter()
    names: list[SectionName] = ["system", "available_tools", "messages"]

    def request(number: int, tokens: tuple[int, ...], counted: int) -> dict[str, int]:
        sections = tuple(
            Section(name=name, raw_chars=chars, chars=chars, tokens=size)
            for name, chars, size in zip(names, (900, 3_000, 300 * number), tokens, strict=True)
        )
        manifest = packed(f"r{number}", *tokens).model_copy(
            update={"sections": sections, "total_tokens": sum(tokens)}
        )
        view = told(fold, manifest, requested(f"r{number}"), responded(f"r{number}", "x", tokens=counted))
        assert sum(section.tokens for section in view.sections) == counted + 10
        return {section.name: section.tokens for section in view.sections}

    assert request(1, (300, 1_000, 100), 1_120) == {"system": 240, "tools": 800, "answers": 90}
    assert request(2, (270, 900, 180), 1_500) == {"system": 240, "tools": 800, "answers": 470}
    assert request(3, (270, 900, 270), 1_300) == {"system": 240, "tools": 800, "answers": 270}


def test_the_next_turns_price_takes_as_much_from_the_cache_as_the_newest_request_did() -> None:
    priced = MODEL.model_copy(update={"input_price": 1.0, "output_price": 2.0, "cached_price": 0.1})
    fold, view = ContextMeter(), None
    for at, (size, cached) in enumerate(((1_000, 0), (2_000, 330), (3_000, 660))):
        asked = requested(f"r{at}").model_copy(update={"model": priced})
        usage = Usage(input_tokens=size, output_tokens=10, cached_tokens=cached)
        answer = responded(f"r{at}", "x").model_copy(update={"usage": usage})
        view = told(fold, packed(f"r{at}", 100, 100, 100), asked, answer)
    assert view is not None
    served = 3_000 * 660 / 2_000  # of the 2,000 tokens that were sent before
    assert view.next_cost_usd == pytest.approx((served * 0.1 + (3_000 - served) + 10 + 20) / 1_000_000)


def test_a_model_that_is_chosen_counts_by_its_own_window_and_prices_before_it_is_asked() -> None:
    unpriced = MODEL.model_copy(update={"input_price": None, "output_price": None})
    asked = requested("r1").model_copy(update={"model": unpriced})
    used = (packed("r1", 100, 100, 101), asked, responded("r1", "x", tokens=400))
    assert told(ContextMeter(), *used).next_cost_usd is None
    priced = MODEL.model_copy(update={"window": 50_000}).model_dump(mode="json")
    view = told(
        ContextMeter(), *used, SettingsChanged(key="model", value=priced, previous=None, changed_by="user")
    )
    assert (view.next_cost_usd, view.window) == ((400 + 10 + 40) / 1_000_000, 50_000)
    none = told(
        ContextMeter(),
        *used,
        SettingsChanged(key="model", value={"model": 3}, previous=None, changed_by="user"),
    )
    assert (none.next_cost_usd, none.window) == (None, 0)


def test_a_request_that_begins_otherwise_breaks_the_cache_and_the_meter_says_why() -> None:
    def begins(request: str, digest: str, **digests: str) -> ContextPacked:
        fragments = tuple(
            FragmentRecord(id=name, digest=each, tokens=1, section=name)  # type: ignore[arg-type]
            for name, each in digests.items()
        )
        return packed(request, 1, 1, 1).model_copy(update={"prefix_digest": digest, "fragments": fragments})

    first = begins("r1", "aa", system="1", instructions="2")
    same = begins("r2", "aa", system="1", instructions="2")
    other = begins("r3", "bb", system="1", instructions="3", working_memory="4")
    assert told(ContextMeter(), first, same).cache_breaks == 0
    view = told(ContextMeter(), first, same, other)
    assert (view.cache_breaks, view.cache_break) == (1, "instructions")


def test_a_delegates_context_does_not_move_the_meter() -> None:
    assert told(ContextMeter(), packed("r1", 1, 1, 1), ("h", packed("r2", 500, 1, 1))).used == 3


def test_compaction_leaves_in_the_meter_what_the_next_request_would_hold() -> None:
    view = told(ContextMeter(), packed("r1", 100, 500, 250), compacted())
    assert (view.used, sum(section.tokens for section in view.sections)) == (100, 100)


def test_the_level_does_not_flicker_at_its_limit() -> None:
    level, seen = "below", []
    for fraction in (0.31, 0.32, 0.31, 0.28, 0.27, 0.40, 0.39, 0.80, 0.79, 0.1):
        level = next_level(level, fraction)  # type: ignore[arg-type]
        seen.append(level)
    assert seen == ["below", "near", "near", "near", "below", "over", "near", "compaction", "over", "below"]


@pytest.mark.parametrize(
    ("parts", "total"), [([1, 1, 1], 100), ([3, 3, 1], 8), ([0, 0], 5), ([5], 5), ([7, 9, 2], 3)]
)
def test_shares_add_up(parts: list[int], total: int) -> None:
    shares = scale_to_total(parts, total)
    assert sum(shares) == (total if sum(parts) else 0)
    assert all(share >= 0 for share in shares)


def test_a_model_whose_window_nobody_knows_is_measured_against_an_assumed_one() -> None:
    asked = requested("r1")
    unknown = asked.model_copy(update={"model": MODEL.model_copy(update={"window": 0})})
    view = told(
        ContextMeter(), packed("r1", 64_000, 0, 0, window=0), unknown, responded("r1", "x", tokens=63_990)
    )
    assert (view.window, view.assumed, view.fraction, view.level) == (128_000, True, 0.5, "over")
    known = told(ContextMeter(), packed("r1", 1, 1, 1), asked)
    assert not known.assumed
    assert told(ContextMeter()).window == 0
