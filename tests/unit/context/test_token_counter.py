"""Counting by the vocabulary that is installed with the product, without any network."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.context.token_counter import VOCABULARY, BytePairs, Tokens, load_bundled_vocabulary
from tui_agent.folds.context.token_calibration import Calibration

COUNTED = load_bundled_vocabulary()


@pytest.fixture(scope="module")
def published() -> tiktoken.Encoding:
    """The same vocabulary as tiktoken itself puts it together, from the copy on this machine."""
    package = find_spec("litellm")
    assert package is not None and package.submodule_search_locations is not None
    place = Path(package.submodule_search_locations[0], "litellm_core_utils", "tokenizers")
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(place)
    try:
        return tiktoken.get_encoding(VOCABULARY)
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


@given(text=st.text(max_size=300))
def test_it_counts_as_tiktoken_does(published: tiktoken.Encoding, text: str) -> None:
    assert COUNTED is not None
    assert COUNTED.count(text) == len(published.encode_ordinary(text))


def test_a_long_text_costs_at_most_a_token_more_at_each_joint(published: tiktoken.Encoding) -> None:
    assert COUNTED is not None
    text = Path(tiktoken.__file__).read_text() * 60
    truth = len(published.encode_ordinary(text))
    assert truth <= COUNTED.count(text) <= truth + len(text) // 65_536 + 1


def test_text_that_is_no_unicode_and_hostile_runs_are_counted() -> None:
    assert COUNTED is not None
    assert COUNTED.count("a\ud83dz") > 0
    assert COUNTED.count(" " * 300_000) > 0
    assert COUNTED.count("<|endoftext|>") > 1


def test_without_a_vocabulary_characters_are_counted_and_the_name_says_so() -> None:
    tokens = Tokens(lambda: None)
    tokens.load()
    assert tokens.ready
    assert tokens.name == "characters"
    assert tokens.count("x" * 400) == 100


def test_the_vocabulary_is_looked_for_once() -> None:
    looked: list[str] = []

    def find() -> BytePairs | None:
        looked.append("once")
        return None

    tokens = Tokens(find)
    tokens.load()
    tokens.load()
    assert looked == ["once"]


def test_a_count_is_corrected_by_what_was_learnt_of_this_way_of_counting() -> None:
    tokens = Tokens(lambda: COUNTED, Calibration({"characters a": 1.5, "cl100k_base a": 1.2}))
    assert tokens.to_model_tokens(1000, "a") == 1500 and tokens.to_model_tokens(1000, "b") == 1000
    tokens.load()
    assert tokens.to_model_tokens(1000, "a") == 1200


def test_counting_leaves_nothing_with_a_text_that_is_kept() -> None:
    """What reads a text of more than ASCII as UTF-8 leaves that with it: a third of a long history's memory."""
    assert COUNTED is not None
    for text in ("wörter – and more 🙂 " * 200, "ж" * 9, "ä", ""):
        size = sys.getsizeof(text)
        assert COUNTED.count(text) == COUNTED.count(text.encode().decode())
        assert sys.getsizeof(text) == size or len(text) == 1
