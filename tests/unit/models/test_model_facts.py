"""Windows and prices come from the packaged map; cost from the provider's own token counts."""

import subprocess
import sys

from tui_agent.models import model_facts, pricing
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import ModelInfo


def info(**more: object) -> ModelInfo:
    return ModelInfo.model_validate({"profile": "p", "provider": "x", "model": "m", **more})


def test_known_models_have_their_figures_with_or_without_their_vendor() -> None:
    for model, vendor in (("gpt-4.1", "openai"), ("gpt-4.1", ""), ("openai/gpt-4.1", "")):
        found = model_facts.facts(model, vendor)
        assert (found.window, found.max_output, found.input_price) == (1_047_576, 32_768, 2.0)
        assert found.images


def test_a_vendors_model_is_not_taken_for_another_vendors() -> None:
    assert model_facts.facts("claude-sonnet-4-5", "deepseek").input_price is None


def test_unknown_models_of_known_families_have_a_window() -> None:
    assert model_facts.facts("qwen3-coder:30b").window == 131_072
    assert model_facts.facts("something-new").window == 0


def test_cost_counts_cached_and_written_tokens_at_their_prices() -> None:
    model = info(input_price=3.0, output_price=15.0, cached_price=0.3)
    usage = Usage(
        input_tokens=1_000_000, output_tokens=100_000, cached_tokens=600_000, cache_write_tokens=200_000
    )
    expected = (200_000 * 3.0 + 600_000 * 0.3 + 200_000 * 3.75 + 100_000 * 15.0) / 1_000_000
    cost = pricing.cost(model, usage)
    assert cost is not None
    assert abs(cost - expected) < 1e-9


def test_an_unknown_price_is_no_cost_rather_than_zero() -> None:
    assert pricing.cost(info(), Usage(input_tokens=5)) is None


def test_a_name_is_read_in_the_map_as_it_stands_in_the_whole_of_it() -> None:
    whole = model_facts.price_map()
    asked = [*list(whole)[::40], *list(whole)[-3:]]
    assert len(asked) > 50
    assert not [name for name in asked if model_facts.map_entry(name) != whole[name]]
    assert [model_facts.map_entry(name) for name in ("", "{", "no-such-model", 'a"b')] == [None] * 4


def test_what_one_model_costs_is_known_without_reading_the_map_of_all() -> None:
    program = (
        "import json; from tui_agent.models import model_facts, pricing\n"
        "for name in ('gpt-4.1', 'something-new'): model_facts.facts(name, 'openai')\n"
        "print(json.dumps(model_facts.price_map.cache_info().misses))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "0"
